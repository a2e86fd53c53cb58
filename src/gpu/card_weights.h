// The weights of a stage on a card: matrices in the processor's panels, byte for byte, and vectors.
//
// Owned by CardStage; they are loaded once and do not change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "gpu/cuda_device.h"
#include "kv/layer_range.h"
#include "model/layer_spec.h"
#include "model/weight_list.h"

namespace octavo::gpu {

struct CardMatrix {
  DType type = DType::kF32;
  std::int64_t rows = 0, cols = 0;       // outputs, inputs
  const std::uint8_t* panels = nullptr;  // on the card

  bool reads_int8() const { return !is_plain_float(type); }
};
inline bool is_present(const CardMatrix& matrix) { return matrix.rows > 0; }
/// The matrices of a layer's experts, all of one shape, one after another in memory.
struct CardExpertMatrices {
  CardMatrix first;
  std::uint64_t bytes_of_one = 0;  // the distance from one to the next
  const float* bias = nullptr;     // [experts][first.rows], on the card; null: none

  /// The bytes that a row reads of one expert's matrix, its bias included.
  std::uint64_t read_bytes() const {
    return bytes_of_one + (bias == nullptr ? 0 : to_size(first.rows) * sizeof(float));
  }
};
inline bool is_present(const CardExpertMatrices& matrices) { return is_present(matrices.first); }

/// The form of a weight tree that the card computes with. Its vectors are on the card, too.
struct CardForm {
  using Matrix = CardMatrix;
  using Experts = CardExpertMatrices;
  using Vector = const float*;
};
using CardLayerWeights = LayerTensors<CardForm>;

class CardWeights {
 public:
  /// Allocates the layers, and with `output` the output matrix, on the card, and pinned memory through which weights
  /// are copied there. Error: the card has not enough memory.
  static Result<CardWeights> allocate(CudaDevice& device, const WeightList& list, LayerRange layers, bool output);

  /// As StageLoad has it, but one thread at a time may call, the card's. Throws a DeviceError where a copy fails.
  void put_vector(WeightIndex vector, std::span<const float> floats);
  void put_panels(WeightIndex matrix, std::size_t offset, std::span<const std::uint8_t> panels);
  /// Ends the load: frees the pinned memory, and forgets the list.
  void end_load() {
    staging_ = {};
    list_ = nullptr;
  }

  const CardLayerWeights& layer(int i) const { return layers_[to_size(i)]; }
  const CardMatrix& output() const { return output_; }  // absent where the processor keeps it
  const float* output_norm() const { return output_norm_; }
  const float* output_bias() const { return output_bias_; }

  // Numbers that the host computes with.
  float output_scale(int layer) const { return output_scales_[to_size(layer)]; }
  /// The model's divisors of frequencies; null: it has none.
  const float* rope_factors() const { return rope_factors_.empty() ? nullptr : rope_factors_.data(); }

 private:
  struct Places;

  explicit CardWeights(CudaDevice& device, const WeightList& list) : device_(&device), list_(&list.tensors) {}
  Result<void> take_memory(const WeightList& list, LayerRange layers, bool output);
  void copy(CuPointer to, const void* from, std::size_t bytes);

  CudaDevice* device_;
  const ModelTensors<ListedForm>* list_;  // set until the load has ended
  std::vector<CardMemory> memory_;
  PinnedMemory staging_;
  std::vector<CuPointer> matrix_places_, vector_places_;  // [entries of the list]
  std::vector<CardLayerWeights> layers_;                  // [layers of the model up to the stage's last one]
  CardMatrix output_;
  const float* output_norm_ = nullptr;
  const float* output_bias_ = nullptr;
  std::vector<float> output_scales_;  // [layers]
  std::vector<float> rope_factors_;
};

}  // namespace octavo::gpu
