#include "gpu/card_weights.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/to_size.h"
#include "gpu/kernels/delta_arguments.h"
#include "gpu/kernels/limits.h"
#include "gpu/product_launch.h"
#include "model/visit_matrices.h"
#include "tensor/dtype.h"

namespace octavo::gpu {
namespace {

std::string reason_against(const LayerSpec& spec) {
  const AttentionSpec* attention = spec.attention();
  const DeltaSpec* delta = spec.delta();
  if (delta != nullptr && std::max(delta_rule_shared(delta->key_dim),
                                   convolve_heads_shared(delta->key_dim, delta->value_dim)) > kMaxSharedBytes)
    return "its recurrence has heads that are too wide";
  if (!std::holds_alternative<DenseFfnSpec>(spec.feed_forward)) return "it is a mixture of experts";
  if ((attention != nullptr && !attention->is_causal) || spec.sum_norms) return "it is an encoder's";
  return {};
}

}  // namespace

std::string reason_against(const WeightMatrix& matrix) {
  if (!has_product(matrix.type))
    return fmt::format("a matrix has type {}, for which the card has no kernel", dtype_info(matrix.type).name);
  if (matrix.panels == nullptr) return "weights stay in the file (--no-repack)";
  if (matrix.scale != nullptr) return "a matrix has a factor beside it";
  return {};
}

std::string reason_against(const LayerSpec& spec, const LayerWeights& weights) {
  if (is_present(weights.per_layer.gate)) return "it reads embeddings of its own";
  std::string reason = reason_against(spec);
  if (!reason.empty()) return reason;
  visit_matrices(weights, [&](const WeightMatrix& matrix, bool) {
    if (reason.empty()) reason = reason_against(matrix);
  });
  return reason;
}

std::uint64_t matrix_bytes(const LayerWeights& weights) {
  std::uint64_t bytes = 0;
  visit_matrices(weights, [&](const WeightMatrix& matrix, bool) { bytes += matrix.bytes(); });
  return bytes;
}

/// Copies, and says what stands on the card for what the processor has (transform() of model/weight_tree.h). An error
/// of one copy is kept: the tree is nobody's then.
class CardWeights::Upload {
 public:
  Upload(CudaDevice& device, const Weights& weights, const std::function<void(std::uint64_t)>& on_bytes,
         std::vector<CardMemory>& memory)
      : device_(device), weights_(weights), on_bytes_(on_bytes), memory_(memory) {}

  /// Takes the memory that copies go by, and copies all vectors.
  Result<void> begin() {
    OCTAVO_TRY(staging_, device_.allocate_pinned(kPieceBytes));
    const std::span<const float> vectors = weights_.vectors();
    OCTAVO_TRY(const CuPointer to, copy(vectors.data(), vectors.size_bytes()));
    vectors_ = to;
    return {};
  }
  Result<void> error() const { return error_; }

  CardMatrix matrix(const WeightMatrix& matrix) const {
    if (!is_present(matrix) || !error_) return {};
    const Result<CuPointer> to = copy(matrix.panels, packed_bytes(matrix.type, matrix.rows, matrix.cols));
    if (!to) {
      error_ = std::unexpected(to.error());
      return {};
    }
    return {matrix.type, matrix.rows, matrix.cols, reinterpret_cast<const std::uint8_t*>(*to)};  // NOLINT: the card's
  }
  NoExperts experts(const ExpertMatrices&) const { return {}; }
  const float* vector(const float* of_host) const {
    if (of_host == nullptr) return nullptr;
    const auto bytes = static_cast<CuPointer>(of_host - weights_.vectors().data()) * sizeof(float);
    return reinterpret_cast<const float*>(vectors_ + bytes);  // NOLINT: the card's
  }

 private:
  // Long enough for a copy's whole rate.
  static constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

  Result<CuPointer> copy(const void* data, std::size_t bytes) const {
    OCTAVO_TRY(CardMemory to, device_.allocate(bytes));
    const CuPointer place = to.pointer();
    memory_.push_back(std::move(to));
    try {
      const auto* from = static_cast<const std::byte*>(data);
      for (std::size_t done = 0; done < bytes; done += kPieceBytes) {
        const std::size_t piece = std::min(kPieceBytes, bytes - done);
        std::memcpy(staging_.data(), from + done, piece);
        device_.copy_to_card(place + done, staging_.data(), piece);
        device_.wait();
        on_bytes_(piece);
      }
    } catch (const DeviceError& error) {
      return fail("{}", error.what());
    }
    return place;
  }

  CudaDevice& device_;
  const Weights& weights_;
  const std::function<void(std::uint64_t)>& on_bytes_;
  std::vector<CardMemory>& memory_;
  PinnedMemory staging_;
  CuPointer vectors_ = 0;
  mutable Result<void> error_;
};

Result<CardWeights> CardWeights::load(CudaDevice& device, const Weights& weights, int num_layers, bool output,
                                      const std::function<void(std::uint64_t)>& on_bytes) {
  CardWeights loaded;
  Upload upload(device, weights, on_bytes, loaded.memory_);
  OCTAVO_TRY_VOID(upload.begin());
  for (int i = 0; i < num_layers && upload.error(); ++i)
    loaded.layers_.push_back(transform<CardForm>(weights.layers[to_size(i)], upload));
  if (output) loaded.output_ = upload.matrix(weights.output);
  loaded.output_norm_ = upload.vector(weights.output_norm);
  loaded.output_bias_ = upload.vector(weights.output_bias);
  OCTAVO_TRY_VOID(upload.error());
  return loaded;
}

}  // namespace octavo::gpu
