#include "model/weight_loader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/cpu_info.h"
#include "base/stop_check.h"
#include "base/text.h"
#include "base/to_size.h"
#include "source/tensor_names.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"

namespace octavo {

namespace {

constexpr std::size_t kSampleBytes = 4096;  // of a matrix that stays in the file, for its hash

std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

/// Rows of `cols` floats become columns.
void transpose(std::span<float> floats, std::size_t cols) {
  const std::vector<float> rows(floats.begin(), floats.end());
  const std::size_t num_rows = floats.size() / cols;
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i % cols * num_rows + i / cols] = rows[i];
}

}  // namespace

Result<const SourceTensor*> WeightLoader::find(const std::string& name, std::int64_t rows, std::int64_t cols,
                                               Presence presence) {
  const SourceTensor* tensor = presence == Presence::kAbsent ? nullptr : source_.find_tensor(name);
  if (tensor == nullptr) {
    if (presence != Presence::kRequired) return nullptr;
    return fail("{}: no tensor {}, which architecture {} needs", source_.name(), name, config_.architecture);
  }
  if (tensor->tensor.rows != rows || tensor->tensor.cols != cols)
    return fail("{}: tensor {} has {} rows of {}, expected {} rows of {} by the metadata of {}", source_.name(), name,
                tensor->tensor.rows, tensor->tensor.cols, rows, cols, config_.architecture);
  used_.insert(tensor->name);
  return tensor;
}

DType WeightLoader::type_of(const SourceTensor& tensor) const {
  const auto other = types_.find(tensor.name);
  return other == types_.end() ? tensor.tensor.type : other->second;
}

Result<void> WeightLoader::plain_matrix(const std::string& name, std::int64_t rows, std::int64_t cols,
                                        WeightMatrix& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, rows, cols, Presence::kRequired));
  target = {.type = type_of(*tensor), .rows = rows, .cols = cols};
  matrices_.push_back({tensor, &target});
  return {};
}

/// NVFP4 has a factor by its format. Matrices of layers keep theirs when llama.cpp's tools make them another type.
Result<void> WeightLoader::matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target,
                                  bool has_factor) {
  OCTAVO_TRY_VOID(plain_matrix(name, rows, cols, target));
  const bool is_nvfp4 = matrices_.back().source->tensor.type == DType::kNVFP4;
  if (!is_nvfp4 && !tensor_names::split(name)) return {};
  return scale(name, 1, target, has_factor || is_nvfp4);
}

/// The factors of `count` whole matrices, one a matrix, stand beside them as a tensor, and not at all if they are 1.
/// Others are those of activations in 4 bits, which are not made here.
Result<void> WeightLoader::scale(const std::string& weights, int count, WeightMatrix& target, bool is_factor) {
  const std::string stem = stem_of(weights);
  if (is_factor) OCTAVO_TRY_VOID(vector(stem + ".scale", count, Presence::kOptional, target.scale));
  for (const char* unread : {".scale", ".input_scale"}) {
    OCTAVO_TRY(const SourceTensor* tensor, find(stem + unread, 1, count, Presence::kOptional));
    static_cast<void>(tensor);
  }
  return {};
}

Result<const SourceTensor*> WeightLoader::find_experts(const std::string& name, const ExpertsFfnSpec& spec,
                                                       std::int64_t rows, std::int64_t cols) {
  const int count = spec.num_experts;
  const SourceTensor* tensor = source_.find_tensor(name);
  if (tensor != nullptr &&
      (tensor->dims.size() != 3 || tensor->tensor.cols != cols || static_cast<std::int64_t>(tensor->dims[1]) != rows ||
       tensor->dims[2] != static_cast<std::uint64_t>(count)))
    return fail("{}: tensor {} has the dimensions {}, expected {}, {}, {}: {} experts by the metadata of {}",
                source_.name(), name, fmt::join(tensor->dims, ", "), cols, rows, count, count, config_.architecture);
  return find(name, rows * count, cols, Presence::kRequired);
}

Result<void> WeightLoader::experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows,
                                   std::int64_t cols, ExpertMatrices& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find_experts(name, spec, rows, cols));
  target = {.first = {.type = type_of(*tensor), .rows = rows, .cols = cols}, .count = spec.num_experts};
  matrices_.push_back({tensor, &target.first, spec.num_experts});
  OCTAVO_TRY_VOID(vectors(stem_of(name) + ".bias", spec.num_experts, rows, spec.biases, target.bias));
  const bool is_nvfp4 = tensor->tensor.type == DType::kNVFP4;
  if (!is_nvfp4 && spec.result_scales != Presence::kAbsent) return {};  // what stands beside them are these
  return scale(name, spec.num_experts, target.first, spec.has_factors || is_nvfp4);
}

Result<void> WeightLoader::gate_and_up(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w) {
  const std::string both = tensor_names::of_layer(layer, tensor_names::kGateUpOfExperts);
  if (source_.find_tensor(both) == nullptr) {
    OCTAVO_TRY_VOID(
        experts(tensor_names::of_layer(layer, tensor_names::kGateOfExperts), spec, spec.width, config_.width, w.gate));
    return experts(tensor_names::of_layer(layer, tensor_names::kUpOfExperts), spec, spec.width, config_.width, w.up);
  }
  const std::int64_t rows = 2 * std::int64_t{spec.width};
  OCTAVO_TRY(const SourceTensor* tensor, find_experts(both, spec, rows, config_.width));
  if (spec.biases != Presence::kAbsent || tensor->tensor.type == DType::kNVFP4)
    return fail("{}: tensor {} holds gate and up in one, which is not supported with biases or in {}", source_.name(),
                both, dtype_info(tensor->tensor.type).name);
  for (ExpertMatrices* half : {&w.gate, &w.up}) {
    *half = {.first = {.type = type_of(*tensor), .rows = spec.width, .cols = config_.width},
             .count = spec.num_experts,
             .file_rows = rows};
    matrices_.push_back({tensor, &half->first, spec.num_experts, half == &w.up ? spec.width : 0, rows});
  }
  return {};
}

Result<void> WeightLoader::vectors(const std::string& name, std::int64_t count, std::int64_t size, Presence presence,
                                   const float*& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, count, size, presence));
  if (tensor != nullptr) vectors_.push_back({tensor, &target});
  return {};
}

Result<void> WeightLoader::scaled_bias(const std::string& name, const WeightMatrix& matrix, Presence presence,
                                       const float*& target) {
  const std::size_t before = vectors_.size();
  OCTAVO_TRY_VOID(vector(name, matrix.rows, presence, target));
  if (vectors_.size() > before && matrix.type != DType::kNVFP4) vectors_.back().scale = &matrix.scale;
  return {};
}

Result<void> WeightLoader::transposed(const std::string& name, std::int64_t rows, std::int64_t cols,
                                      const float*& target) {
  OCTAVO_TRY_VOID(vectors(name, rows, cols, Presence::kRequired, target));
  vectors_.back().transposed = true;
  return {};
}

Result<void> WeightLoader::check_all_used() const {
  for (const SourceTensor& tensor : source_.tensors())
    if (!used_.contains(tensor.name) && !is_skipped(config_, tensor.name))
      return fail("{}: tensor {} is not part of architecture {} as Octavo knows it", source_.name(), quote(tensor.name),
                  config_.architecture);
  return {};
}

WeightNeed WeightLoader::need() const {
  WeightNeed need;
  for (const Vector& v : vectors_) need.vector_bytes += sizeof(float) * vector_floats(v.num_floats());
  for (const Matrix& m : matrices_) {
    need.packed_bytes += to_size(m.count) * m.packed_bytes_of_one();
    need.mapped_bytes += m.file_bytes();
  }
  return need;
}

Result<ContentHash> WeightLoader::load_vectors(Weights& w, const std::stop_token& stop) const {
  w.vectors_ = AlignedBuffer<float>(need().vector_bytes / sizeof(float));
  float* floats = w.vectors_.data();
  std::vector<std::byte> bytes;
  std::vector<float> whole;
  std::vector<ContentHash> hashes;
  for (const Vector& v : vectors_) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    const std::size_t size = v.num_floats();
    bytes.resize(v.source->tensor.bytes());
    OCTAVO_TRY_VOID(source_.read(v.source->offset, bytes));
    hashes.push_back(hash_of(bytes));
    whole.resize(v.num_in_file());
    dequantize(v.source->tensor.type, bytes.data(), whole);
    std::ranges::copy(std::span(whole).subspan(to_size(v.first), size), floats);
    const float factor = v.scale != nullptr && *v.scale != nullptr ? v.factor * **v.scale : v.factor;
    if (factor != 1)
      for (float& x : std::span(floats, size)) x *= factor;
    if (v.transposed) transpose(std::span(floats, size), to_size(v.source->tensor.cols));
    *v.target = floats;
    floats += vector_floats(size);
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<ContentHash> WeightLoader::pack_matrices(Weights& w, ThreadPool& pool, const RepackProgress& progress,
                                                const LoadManner& manner) const {
  w.matrices_ = AlignedBuffer<std::uint8_t>::with_huge_pages(need().packed_bytes);
  std::uint8_t* panels = w.matrices_.data();
  std::vector<RepackJob> jobs;
  for (const Matrix& m : matrices_) {
    m.target->panels = panels;
    for (int i = 0; i < m.count; ++i, panels += m.packed_bytes_of_one())
      jobs.push_back({.tensor = m.source,
                      .type = m.target->type,
                      .first_row = m.row_of(i),
                      .num_rows = m.target->rows,
                      .panels = panels});
  }
  const bool fits_beside = source_.files().bytes + need().packed_bytes <= available_memory_bytes();
  return repack(std::move(jobs), source_, pool, progress,
                {.pages = fits_beside ? FilePages::kKept : FilePages::kDropped,
                 .beside_others = manner.beside_others,
                 .stop = manner.stop});
}

Result<ContentHash> WeightLoader::map_matrices(Weights& w, const std::stop_token& stop) const {
  const SourceFiles& files = source_.files();
  std::vector<ContentHash> hashes = {{files.bytes, static_cast<std::uint64_t>(files.modified_ns)}};
  std::array<std::byte, kSampleBytes> sample;
  for (const Matrix& m : matrices_) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    if (m.source->tensor.data.empty())
      return fail("{}: tensor {} is in no map of a file: without repacking only GGUF files run", source_.name(),
                  m.source->name);
    const std::size_t skipped = to_size(m.first_row) * m.source->tensor.row_bytes();
    m.target->file = m.source->tensor.data.data() + skipped;
    w.mapped_bytes_ += m.file_bytes();
    w.largest_panel_bytes_ = std::max(w.largest_panel_bytes_, panel_bytes(m.target->type, m.target->cols));
    const std::span<std::byte> first = std::span(sample).first(std::min(sample.size(), m.file_bytes()));
    OCTAVO_TRY_VOID(source_.read(m.source->offset + skipped, first));
    hashes.push_back(hash_of(first));
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

}  // namespace octavo
