// The weights of a model's first layers on a card: the processor's panels and vectors, byte for byte.
//
// Owned by CardLayers, immutable after load().
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/weights.h"
#include "gpu/cuda_device.h"
#include "model/layer_spec.h"

namespace octavo::gpu {

struct CardMatrix {
  DType type = DType::kF32;
  std::int64_t rows = 0, cols = 0;       // outputs, inputs
  const std::uint8_t* panels = nullptr;  // on the card

  bool reads_int8() const { return !is_plain_float(type); }
};
inline bool is_present(const CardMatrix& matrix) { return matrix.rows > 0; }
/// The matrices of a layer's experts, all of one shape, one behind another.
struct CardExpertMatrices {
  CardMatrix first;
  std::uint64_t bytes_of_one = 0;  // from one to the next
  const float* bias = nullptr;     // [experts][first.rows], on the card; null: none
};
inline bool is_present(const CardExpertMatrices& matrices) { return is_present(matrices.first); }

/// The form of a weight tree that the card computes with. Vectors are on the card, too.
struct CardForm {
  using Matrix = CardMatrix;
  using Experts = CardExpertMatrices;
  using Vector = const float*;
};
using CardLayerWeights = LayerTensors<CardForm>;

class CardWeights {
 public:
  /// Copies the first `num_layers` layers, and with `output` the output matrix, to the card, in pieces, by way of
  /// pinned memory; `on_bytes` is told the bytes of each piece. Error: the card has no memory for them.
  static Result<CardWeights> load(CudaDevice& device, const Weights& weights, int num_layers, bool output,
                                  const std::function<void(std::uint64_t)>& on_bytes);

  int num_layers() const { return static_cast<int>(layers_.size()); }
  /// In place of a layer's output scale, a number of the host, stand the model's own weights.
  const CardLayerWeights& layer(int i) const { return layers_[to_size(i)]; }
  const CardMatrix& output() const { return output_; }  // absent: it stays with the processor
  const float* output_norm() const { return output_norm_; }
  const float* output_bias() const { return output_bias_; }

 private:
  class Upload;

  std::vector<CardMemory> memory_;
  std::vector<CardLayerWeights> layers_;
  CardMatrix output_;
  const float* output_norm_ = nullptr;
  const float* output_bias_ = nullptr;
};

}  // namespace octavo::gpu
