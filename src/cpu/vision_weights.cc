#include "cpu/vision_weights.h"

#include <algorithm>

#include "base/stop_check.h"
#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/weight_need.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

/// Turns entries of a list into what was loaded for them.
struct LoadedVision {
  std::vector<const float*> vectors;   // [list.vectors]
  std::vector<WeightMatrix> matrices;  // [list.matrices]

  const float* vector(WeightIndex index) const { return is_present(index) ? vectors[to_size(index.value)] : nullptr; }
  WeightMatrix matrix(WeightIndex index) const {
    return is_present(index) ? matrices[to_size(index.value)] : WeightMatrix();
  }
  /// Encoders have none.
  static ExpertMatrices experts(ExpertsIndex /*experts*/) { return {}; }
};

/// Reads all numbers of a tensor; the result is a hash of its bytes.
Result<ContentHash> read_floats(const ModelSource& source, const SourceTensor& tensor, std::vector<float>& floats) {
  std::vector<std::byte> bytes(tensor.tensor.bytes());
  OCTAVO_TRY_VOID(source.read(tensor.offset, bytes));
  floats.resize(to_size(tensor.tensor.rows * tensor.tensor.cols));
  dequantize(tensor.tensor.type, bytes.data(), floats);
  return hash_of(bytes);
}

/// Packs a matrix of floats.
WeightMatrix pack_floats(std::span<const float> floats, std::int64_t rows, std::int64_t cols,
                         const KernelTable& kernels, std::uint8_t* panels) {
  pack_panels({.type = DType::kF32, .rows = rows, .cols = cols, .data = std::as_bytes(floats)}, 0, num_panels(rows),
              panels);
  return {.type = DType::kF32,
          .activations = kernels.activation_form(DType::kF32),
          .rows = rows,
          .cols = cols,
          .panels = panels};
}

}  // namespace

Result<VisionWeights> VisionWeights::load(const ModelSource& source, const VisionConfig& config,
                                          const VisionWeightList& list, const KernelTable& kernels, ThreadPool& pool,
                                          const RepackProgress& progress, const LoadManner& manner) {
  VisionWeights weights;
  LoadedVision loaded;
  std::vector<ContentHash> hashes;
  for (const std::span<const std::byte> head : source.heads()) hashes.push_back(hash_of(head));
  OCTAVO_TRY(hashes.emplace_back(), weights.load_vectors(source, list, loaded.vectors));
  const std::size_t patch_bytes = packed_bytes(DType::kF32, config.width, config.patch_width());
  const SourceTensor* down = list.transposed_down;
  const std::size_t down_bytes = down == nullptr ? 0 : packed_bytes(DType::kF32, down->tensor.cols, down->tensor.rows);
  std::size_t bytes = patch_bytes + down_bytes;
  for (const ListedMatrix& m : list.matrices) bytes += packed_bytes(m.type, m.rows, m.cols);
  weights.matrices_ = AlignedBuffer<std::uint8_t>::with_huge_pages(bytes);
  std::uint8_t* panels = weights.matrices_.data();
  OCTAVO_TRY_VOID(check_stop(manner.stop, "loading"));
  OCTAVO_TRY(hashes.emplace_back(), weights.load_patches(source, config, list, kernels, panels));
  panels += patch_bytes;
  std::uint8_t* const down_panels = panels;
  panels += down_bytes;
  std::vector<RepackJob> jobs;
  for (const ListedMatrix& m : list.matrices) {
    jobs.push_back({.tensor = m.source,
                    .type = m.type,
                    .first_row = m.first_row,
                    .num_rows = m.rows,
                    .panels = panels,
                    .order = kernels.panel_order(m.type)});
    loaded.matrices.push_back({.type = m.type,
                               .activations = kernels.activation_form(m.type),
                               .order = kernels.panel_order(m.type),
                               .rows = m.rows,
                               .cols = m.cols,
                               .panels = panels});
    panels += packed_bytes(m.type, m.rows, m.cols);
  }
  OCTAVO_TRY(hashes.emplace_back(),
             repack(std::move(jobs), source, pool, progress,
                    {.pages = FilePages::kKept, .beside_others = manner.beside_others, .stop = manner.stop}));
  if (down != nullptr) {
    OCTAVO_TRY(hashes.emplace_back(), weights.load_transposed_down(source, *down, kernels, down_panels));
  }
  const WeightMatrix transposed = weights.merger.down;
  weights.content_hash_ = hash_of(std::as_bytes(std::span(hashes)));
  weights.pixel_norm = loaded.vector(list.tensors.pixel_norm);
  weights.pixel_norm_bias = loaded.vector(list.tensors.pixel_norm_bias);
  weights.patch_bias = loaded.vector(list.tensors.patch_bias);
  weights.product_norm = loaded.vector(list.tensors.product_norm);
  weights.product_norm_bias = loaded.vector(list.tensors.product_norm_bias);
  weights.positions = loaded.vector(list.tensors.positions);
  weights.placed_norm = loaded.vector(list.tensors.placed_norm);
  weights.placed_norm_bias = loaded.vector(list.tensors.placed_norm_bias);
  for (const auto& layer : list.tensors.layers) weights.layers.push_back(transform<CpuForm>(layer, loaded));
  weights.row_join = transform<CpuForm>(list.tensors.row_join, loaded);
  for (const auto& merger : list.tensors.deepstack) weights.deepstack.push_back(transform<CpuForm>(merger, loaded));
  weights.merger = transform<CpuForm>(list.tensors.merger, loaded);
  if (down != nullptr) weights.merger.down = transposed;
  return weights;
}

Result<ContentHash> VisionWeights::load_transposed_down(const ModelSource& source, const SourceTensor& tensor,
                                                        const KernelTable& kernels, std::uint8_t* panels) {
  std::vector<float> floats;
  OCTAVO_TRY(const ContentHash hash, read_floats(source, tensor, floats));
  const std::int64_t rows = tensor.tensor.cols, cols = tensor.tensor.rows;
  std::vector<float> turned(floats.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) turned[to_size(row * cols + col)] = floats[to_size(col * rows + row)];
  merger.down = pack_floats(turned, rows, cols, kernels, panels);
  return hash;
}

Result<ContentHash> VisionWeights::load_vectors(const ModelSource& source, const VisionWeightList& list,
                                                std::vector<const float*>& loaded) {
  std::size_t count = 0;
  for (const ListedVector& v : list.vectors) count += vector_floats(v.num_floats());
  vectors_ = AlignedBuffer<float>(count);
  float* next = vectors_.data();
  std::vector<float> floats;
  std::vector<ContentHash> hashes;
  for (const ListedVector& v : list.vectors) {
    OCTAVO_TRY(hashes.emplace_back(), read_floats(source, *v.source, floats));
    std::ranges::copy(std::span(floats).subspan(to_size(v.first), v.num_floats()), next);
    loaded.push_back(next);
    next += vector_floats(v.num_floats());
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<ContentHash> VisionWeights::load_patches(const ModelSource& source, const VisionConfig& config,
                                                const VisionWeightList& list, const KernelTable& kernels,
                                                std::uint8_t* panels) {
  std::vector<float> sum, kernel;
  std::vector<ContentHash> hashes;
  for (const SourceTensor* tensor : list.patch_kernels) {
    if (tensor == nullptr) continue;
    OCTAVO_TRY(hashes.emplace_back(), read_floats(source, *tensor, kernel));
    if (sum.empty()) {
      sum = kernel;
    } else {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += kernel[i];
    }
  }
  const std::int64_t cols = config.patch_width();
  patches_ = pack_floats(sum, config.width, cols, kernels, panels);
  return hash_of(std::as_bytes(std::span(hashes)));
}

}  // namespace octavo
