#include "cpu/weights.h"

#include <algorithm>
#include <array>

#include "base/cpu_info.h"
#include "base/stop_check.h"
#include "base/text.h"
#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/weight_need.h"
#include "stage/weight_shares.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace octavo {
namespace {

constexpr std::size_t kSampleBytes = 4096;  // of a matrix that stays in the file, for its hash

/// Rows of `cols` floats become columns.
void transpose(std::span<float> floats, std::size_t cols) {
  const std::vector<float> rows(floats.begin(), floats.end());
  const std::size_t num_rows = floats.size() / cols;
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i % cols * num_rows + i / cols] = rows[i];
}

/// The matrices of a tensor that lie there by columns, packed by rows.
class TransposedPacker {
 public:
  TransposedPacker(const ModelSource& source, const ListedMatrix& matrix, PanelOrder order)
      : source_(source), matrix_(matrix), order_(order) {
    const std::size_t count = to_size(matrix.rows * matrix.cols);
    file_bytes_.resize(to_size(matrix.cols) * matrix.source->tensor.row_bytes());
    floats_.resize(count);
    row_.resize(to_size(matrix.cols));
    rows_.resize(*dtype_bytes(matrix.type, count));
  }

  /// Matrix `number`; a hash of what was read.
  Result<ContentHash> pack(int number, std::uint8_t* panels) {
    const Tensor& tensor = matrix_.source->tensor;
    const std::size_t rows = to_size(matrix_.rows), cols = row_.size();
    OCTAVO_TRY_VOID(
        source_.read(matrix_.source->offset + to_size(matrix_.row_of(number)) * tensor.row_bytes(), file_bytes_));
    for (std::size_t c = 0; c < cols; ++c)
      dequantize(tensor.type, file_bytes_.data() + c * tensor.row_bytes(), std::span(floats_).subspan(c * rows, rows));
    const std::size_t row_bytes = rows_.size() / rows;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) row_[c] = floats_[c * rows + r];
      if (Result<void> made = quantize(matrix_.type, row_, {}, std::span(rows_).subspan(r * row_bytes, row_bytes));
          !made)
        return fail("{}: tensor {}: {}", source_.name(), quote(matrix_.source->name), made.error().message);
    }
    pack_panels({.type = matrix_.type, .rows = matrix_.rows, .cols = matrix_.cols, .data = rows_}, 0,
                num_panels(matrix_.rows), panels, order_);
    return hash_of(file_bytes_);
  }

 private:
  const ModelSource& source_;
  const ListedMatrix& matrix_;
  PanelOrder order_;
  std::vector<std::byte> file_bytes_, rows_;
  std::vector<float> floats_, row_;
};

std::size_t packed_bytes_of(const ListedMatrix& m) { return to_size(m.count) * packed_bytes(m.type, m.rows, m.cols); }

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
    if (!is_present(matrix(experts.index))) return {};
    const ListedMatrix& listed = list.matrix(experts.index);
    return {.first = matrix(experts.index),
            .count = listed.count,
            .file_rows = listed.row_step,
            .bias = vector(listed.bias)};
  }
};

}  // namespace

struct Weights::Load {
  const ModelSource& source;
  const WeightList& list;
  WeightShares shares;
  StageLoad* elsewhere;  // null: all of them are here
};

Result<Weights> Weights::load(const ModelSource& source, const WeightList& list, const KernelTable& kernels,
                              ThreadPool& pool, const RepackProgress& progress, const LoadManner& manner,
                              StageLoad* elsewhere) {
  if (!manner.repack && !list.types.empty()) return fail("weights that stay in the file cannot be made other types");
  OCTAVO_CHECK(manner.repack || elsewhere == nullptr, "weights in the file go nowhere");
  const Load load{
      source, list,
      elsewhere == nullptr ? WeightShares(list) : WeightShares(list, elsewhere->layers(), elsewhere->has_output()),
      elsewhere};
  Weights weights;
  LoadedWeights loaded{.list = list, .vectors = {}, .matrices = {}};
  OCTAVO_TRY(const ContentHash vectors, weights.load_vectors(load, manner.stop, loaded.vectors));
  for (std::size_t i = 0; i < list.matrices.size(); ++i) {
    const ListedMatrix& m = list.matrices[i];
    loaded.matrices.push_back(load.shares.matrix(i).is_here
                                  ? WeightMatrix{.type = m.type,
                                                 .activations = kernels.activation_form(m.type),
                                                 .order = kernels.panel_order(m.type),
                                                 .rows = m.rows,
                                                 .cols = m.cols,
                                                 .scale = loaded.vector(m.scale)}
                                  : WeightMatrix());
  }
  OCTAVO_TRY(const ContentHash matrices, manner.repack
                                             ? weights.pack_matrices(load, pool, progress, manner, loaded.matrices)
                                             : weights.map_matrices(load, manner.stop, loaded.matrices));
  OCTAVO_TRY(const ContentHash transposed, weights.pack_transposed(load, pool, manner.stop, loaded.matrices));
  static_cast<ModelTensors<CpuForm>&>(weights) = transform<CpuForm>(list.tensors, loaded);
  std::vector<ContentHash> parts;
  for (const std::span<const std::byte> head : source.heads()) parts.push_back(hash_of(head));
  parts.insert(parts.end(), {vectors, matrices});
  if (std::ranges::any_of(list.matrices, &ListedMatrix::is_transposed)) parts.push_back(transposed);
  for (const auto& [name, type] : list.types) {
    parts.push_back(hash_of(std::as_bytes(std::span(name))));
    parts.push_back(hash_of(std::as_bytes(std::span(&type, 1))));
  }
  weights.content_hash_ = {
      .hash = hash_of(std::as_bytes(std::span(parts))),
      .basis = manner.repack ? WeightsHash::Basis::kAllBytes : WeightsHash::Basis::kSizeTimeAndSamples};
  return weights;
}

Result<ContentHash> Weights::load_vectors(const Load& load, const std::stop_token& stop,
                                          std::vector<const float*>& loaded) {
  const std::vector<ListedVector>& listed = load.list.vectors;
  std::size_t here = 0;
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (load.shares.vector(i).is_here) here += vector_floats(listed[i].num_floats());
  vectors_ = AlignedBuffer<float>(here);
  float* floats = vectors_.data();
  std::vector<std::byte> bytes;
  std::vector<float> whole, part, first_numbers;
  std::vector<ContentHash> hashes;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    const ListedVector& v = listed[i];
    bytes.resize(v.source->tensor.bytes());
    OCTAVO_TRY_VOID(load.source.read(v.source->offset, bytes));
    hashes.push_back(hash_of(bytes));
    whole.resize(v.num_in_file());
    dequantize(v.source->tensor.type, bytes.data(), whole);
    const auto begin = whole.begin() + v.first;
    part.assign(begin, begin + static_cast<std::ptrdiff_t>(v.num_floats()));
    const float factor = is_present(v.scale) ? v.factor * first_numbers[to_size(v.scale.value)] : v.factor;
    if (factor != 1)
      for (float& x : part) x *= factor;
    if (v.transposed) transpose(part, to_size(v.source->tensor.cols));
    first_numbers.push_back(part.empty() ? 0 : part.front());
    if (load.shares.vector(i).is_there) OCTAVO_TRY_VOID(load.elsewhere->put_vector({static_cast<int>(i)}, part));
    loaded.push_back(load.shares.vector(i).is_here ? floats : nullptr);
    if (!load.shares.vector(i).is_here) continue;
    std::ranges::copy(part, floats);
    floats += vector_floats(part.size());
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<ContentHash> Weights::pack_matrices(const Load& load, ThreadPool& pool, const RepackProgress& progress,
                                           const LoadManner& manner, std::vector<WeightMatrix>& loaded) {
  const std::vector<ListedMatrix>& listed = load.list.matrices;
  std::uint64_t here = 0;
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (load.shares.matrix(i).is_here) here += packed_bytes_of(listed[i]);
  matrices_ = AlignedBuffer<std::uint8_t>::with_huge_pages(here);
  std::uint8_t* panels = matrices_.data();
  std::vector<RepackJob> jobs;
  for (std::size_t index = 0; index < loaded.size(); ++index) {
    const ListedMatrix& m = listed[index];
    const WeightShare share = load.shares.matrix(index);
    if (share.is_here) loaded[index].panels = panels;
    const std::size_t bytes_of_one = packed_bytes(m.type, m.rows, m.cols);
    if (m.is_transposed) {
      OCTAVO_CHECK(share.is_here && !share.is_there, "{} lies elsewhere", m.source->name);
      panels += packed_bytes_of(m);
      continue;
    }
    for (int i = 0; i < m.count; ++i) {
      RepackJob& job = jobs.emplace_back(m.source, m.type, m.row_of(i), m.rows, share.is_here ? panels : nullptr);
      job.order = loaded[index].order;
      if (share.is_here) panels += bytes_of_one;
      if (!share.is_there) continue;
      job.send = [&load, index, first = to_size(i) * bytes_of_one](std::size_t offset,
                                                                   std::span<const std::uint8_t> some) {
        return load.elsewhere->put_panels({static_cast<int>(index)}, first + offset, some);
      };
    }
  }
  const bool fits_beside = load.source.files().bytes + here <= available_memory_bytes();
  return repack(std::move(jobs), load.source, pool, progress,
                {.pages = fits_beside ? FilePages::kKept : FilePages::kDropped,
                 .beside_others = manner.beside_others,
                 .stop = manner.stop});
}

Result<ContentHash> Weights::map_matrices(const Load& load, const std::stop_token& stop,
                                          std::vector<WeightMatrix>& loaded) {
  const ModelSource& source = load.source;
  const SourceFiles& files = source.files();
  std::vector<ContentHash> hashes = {{files.bytes, static_cast<std::uint64_t>(files.modified_ns)}};
  std::size_t transposed_bytes = 0;
  for (const ListedMatrix& m : load.list.matrices)
    if (m.is_transposed) transposed_bytes += packed_bytes_of(m);
  matrices_ = AlignedBuffer<std::uint8_t>(transposed_bytes);
  std::uint8_t* panels = matrices_.data();
  std::array<std::byte, kSampleBytes> sample;
  for (std::size_t index = 0; index < loaded.size(); ++index) {
    const ListedMatrix& m = load.list.matrices[index];
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    if (m.is_transposed) {
      loaded[index].panels = panels;
      panels += packed_bytes_of(m);
      continue;
    }
    if (m.source->tensor.data.empty())
      return fail(
          "{}: tensor {} is in no map of a file as it is computed with: without repacking only GGUF files run, of "
          "Qwen3-Next the later ones",
          source.name(), m.source->name);
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

Result<ContentHash> Weights::pack_transposed(const Load& load, ThreadPool& pool, const std::stop_token& stop,
                                             const std::vector<WeightMatrix>& loaded) {
  std::vector<ContentHash> hashes;
  for (std::size_t index = 0; index < loaded.size(); ++index) {
    const ListedMatrix& m = load.list.matrices[index];
    if (!m.is_transposed) continue;
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    const std::size_t bytes_of_one = packed_bytes(m.type, m.rows, m.cols);
    std::uint8_t* panels = matrices_.data() + (loaded[index].panels - matrices_.data());
    std::vector<Result<ContentHash>> made(to_size(m.count), ContentHash());
    const ThreadPool::Step step(pool);
    pool.for_ranges(made.size(), 1, [&](std::size_t begin, std::size_t end, int /*worker*/) {
      TransposedPacker packer(load.source, m, loaded[index].order);
      for (std::size_t i = begin; i < end; ++i) made[i] = packer.pack(static_cast<int>(i), panels + i * bytes_of_one);
    });
    for (const Result<ContentHash>& one : made) {
      OCTAVO_TRY(const ContentHash hash, one);
      hashes.push_back(hash);
    }
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

PanelScratch Weights::make_scratch(int num_threads) const {
  return mapped_bytes_ == 0 ? PanelScratch() : PanelScratch(largest_panel_bytes_, num_threads);
}

}  // namespace octavo
