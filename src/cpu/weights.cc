#include "cpu/weights.h"

#include <algorithm>
#include <array>

#include "base/cpu_info.h"
#include "base/stop_check.h"
#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/weight_need.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

constexpr std::size_t kSampleBytes = 4096;  // of a matrix that stays in the file, for its hash

/// Rows of `cols` floats become columns.
void transpose(std::span<float> floats, std::size_t cols) {
  const std::vector<float> rows(floats.begin(), floats.end());
  const std::size_t num_rows = floats.size() / cols;
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i % cols * num_rows + i / cols] = rows[i];
}

/// Entries of a list become what was loaded for them.
struct LoadedWeights {
  const WeightList& list;
  std::vector<const float*> vectors;   // [list.vectors]
  std::vector<WeightMatrix> matrices;  // [list.matrices] the first one of each

  const float* vector(WeightIndex index) const { return is_present(index) ? vectors[to_size(index.value)] : nullptr; }
  WeightMatrix matrix(WeightIndex index) const {
    return is_present(index) ? matrices[to_size(index.value)] : WeightMatrix();
  }
  ExpertMatrices experts(ExpertsIndex experts) const {
    if (!is_present(experts.index)) return {};
    const ListedMatrix& listed = list.matrix(experts.index);
    return {.first = matrix(experts.index),
            .count = listed.count,
            .file_rows = listed.row_step,
            .bias = vector(listed.bias)};
  }
};

/// The number that a vector is multiplied by; those before it are loaded.
float factor_of(const ListedVector& v, const std::vector<const float*>& loaded) {
  return is_present(v.scale) ? v.factor * *loaded[to_size(v.scale.value)] : v.factor;
}

}  // namespace

Result<Weights> Weights::load(const ModelSource& source, const WeightList& list, const KernelTable& kernels,
                              ThreadPool& pool, const RepackProgress& progress, const LoadManner& manner) {
  if (!manner.repack && !list.types.empty()) return fail("weights that stay in the file cannot be made other types");
  Weights weights;
  LoadedWeights loaded{.list = list, .vectors = {}, .matrices = {}};
  OCTAVO_TRY(const ContentHash vectors, weights.load_vectors(source, list, manner.stop, loaded.vectors));
  for (const ListedMatrix& m : list.matrices)
    loaded.matrices.push_back({.type = m.type,
                               .activations = kernels.activation_form(m.type),
                               .rows = m.rows,
                               .cols = m.cols,
                               .scale = loaded.vector(m.scale)});
  OCTAVO_TRY(const ContentHash matrices,
             manner.repack ? weights.pack_matrices(source, list, pool, progress, manner, loaded.matrices)
                           : weights.map_matrices(source, list, manner.stop, loaded.matrices));
  static_cast<ModelTensors<CpuForm>&>(weights) = transform<CpuForm>(list.tensors, loaded);
  std::vector<ContentHash> parts;
  for (const std::span<const std::byte> head : source.heads()) parts.push_back(hash_of(head));
  parts.insert(parts.end(), {vectors, matrices});
  for (const auto& [name, type] : list.types) {
    parts.push_back(hash_of(std::as_bytes(std::span(name))));
    parts.push_back(hash_of(std::as_bytes(std::span(&type, 1))));
  }
  weights.content_hash_ = {
      .hash = hash_of(std::as_bytes(std::span(parts))),
      .basis = manner.repack ? WeightsHash::Basis::kAllBytes : WeightsHash::Basis::kSizeTimeAndSamples};
  return weights;
}

Result<ContentHash> Weights::load_vectors(const ModelSource& source, const WeightList& list,
                                          const std::stop_token& stop, std::vector<const float*>& loaded) {
  vectors_ = AlignedBuffer<float>(weight_need(list).vector_bytes / sizeof(float));
  float* floats = vectors_.data();
  std::vector<std::byte> bytes;
  std::vector<float> whole;
  std::vector<ContentHash> hashes;
  for (const ListedVector& v : list.vectors) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    const std::size_t size = v.num_floats();
    bytes.resize(v.source->tensor.bytes());
    OCTAVO_TRY_VOID(source.read(v.source->offset, bytes));
    hashes.push_back(hash_of(bytes));
    whole.resize(v.num_in_file());
    dequantize(v.source->tensor.type, bytes.data(), whole);
    std::ranges::copy(std::span(whole).subspan(to_size(v.first), size), floats);
    const float factor = factor_of(v, loaded);
    if (factor != 1)
      for (float& x : std::span(floats, size)) x *= factor;
    if (v.transposed) transpose(std::span(floats, size), to_size(v.source->tensor.cols));
    loaded.push_back(floats);
    floats += vector_floats(size);
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<ContentHash> Weights::pack_matrices(const ModelSource& source, const WeightList& list, ThreadPool& pool,
                                           const RepackProgress& progress, const LoadManner& manner,
                                           std::vector<WeightMatrix>& loaded) {
  const std::uint64_t need = weight_need(list).packed_bytes;
  matrices_ = AlignedBuffer<std::uint8_t>::with_huge_pages(need);
  std::uint8_t* panels = matrices_.data();
  std::vector<RepackJob> jobs;
  for (std::size_t index = 0; index < loaded.size(); ++index) {
    const ListedMatrix& m = list.matrices[index];
    loaded[index].panels = panels;
    const std::size_t bytes_of_one = packed_bytes(m.type, m.rows, m.cols);
    for (int i = 0; i < m.count; ++i, panels += bytes_of_one)
      jobs.push_back(
          {.tensor = m.source, .type = m.type, .first_row = m.row_of(i), .num_rows = m.rows, .panels = panels});
  }
  const bool fits_beside = source.files().bytes + need <= available_memory_bytes();
  return repack(std::move(jobs), source, pool, progress,
                {.pages = fits_beside ? FilePages::kKept : FilePages::kDropped,
                 .beside_others = manner.beside_others,
                 .stop = manner.stop});
}

Result<ContentHash> Weights::map_matrices(const ModelSource& source, const WeightList& list,
                                          const std::stop_token& stop, std::vector<WeightMatrix>& loaded) {
  const SourceFiles& files = source.files();
  std::vector<ContentHash> hashes = {{files.bytes, static_cast<std::uint64_t>(files.modified_ns)}};
  std::array<std::byte, kSampleBytes> sample;
  for (std::size_t index = 0; index < loaded.size(); ++index) {
    const ListedMatrix& m = list.matrices[index];
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    if (m.source->tensor.data.empty())
      return fail("{}: tensor {} is in no map of a file: without repacking only GGUF files run", source.name(),
                  m.source->name);
    const std::size_t skipped = to_size(m.first_row) * m.source->tensor.row_bytes();
    loaded[index].file = m.source->tensor.data.data() + skipped;
    mapped_bytes_ += m.file_bytes();
    largest_panel_bytes_ = std::max(largest_panel_bytes_, panel_bytes(m.type, m.cols));
    const std::span<std::byte> first = std::span(sample).first(std::min(sample.size(), m.file_bytes()));
    OCTAVO_TRY_VOID(source.read(m.source->offset + skipped, first));
    hashes.push_back(hash_of(first));
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

std::uint64_t Weights::bytes_per_token() const {
  const bool tied = output.panels == embedding.panels && output.file == embedding.file;
  const auto unread_rows = [](const WeightMatrix& w) {
    return w.rows == 0 ? 0 : w.bytes() - w.bytes() / static_cast<std::uint64_t>(w.rows);
  };
  std::uint64_t unread = unread_rows(per_layer.table);
  if (!tied) unread += unread_rows(embedding) + unread_rows(positions) + unread_rows(token_types);
  if (draft_head.embedding.panels != embedding.panels || draft_head.embedding.file != embedding.file)
    unread += unread_rows(draft_head.embedding);
  for (const LayerWeights& layer : layers)
    if (const auto* experts = std::get_if<ExpertsFfnWeights>(&layer.feed_forward))
      unread += to_size(experts->gate.count - experts->num_chosen) * bytes_of_one(*experts);
  return total_bytes() - unread;
}

PanelScratch Weights::make_scratch(int num_threads) const {
  return mapped_bytes_ == 0 ? PanelScratch() : PanelScratch(largest_panel_bytes_, num_threads);
}

}  // namespace octavo
