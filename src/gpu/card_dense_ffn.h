// The dense feed-forward of a layer on the card (cpu/dense_ffn.h), which also computes shared experts.
//
// Owned by CardStage.
#pragma once

#include "gpu/card_context.h"
#include "model/layer_spec.h"

namespace octavo::gpu {

class CardDenseFfn {
 public:
  /// Allocates memory for the widest of the model's layers. `context` must outlive it. Error: too little memory.
  static Result<CardDenseFfn> create(CardContext& context, const ModelConfig& config, int max_rows);
  static std::uint64_t scratch_bytes(const ModelConfig& config, int max_rows);

  /// out = the result for `rows` rows of x, [rows, width of the model], without the bias of down. `out` may be `x`.
  void compute(const DenseFfnSpec& spec, const DenseFfnTensors<CardForm>& w, const float* x, int rows, float* out);

 private:
  explicit CardDenseFfn(CardContext& context) : context_(&context) {}

  CardContext* context_;
  CardMemory gate_, up_;  // [max_rows, feed-forward width]
};

}  // namespace octavo::gpu
