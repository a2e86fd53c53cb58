// The dense feed-forward of a layer on the card, as cpu/dense_ffn.h has it. Experts that compute every row are computed
// by it too.
//
// Owned by CardStage.
#pragma once

#include "gpu/card_context.h"
#include "model/layer_spec.h"

namespace octavo::gpu {

class CardDenseFfn {
 public:
  /// Takes memory for the widest of the model's layers. The context must outlive it. Error: the card has too little.
  static Result<CardDenseFfn> create(CardContext& context, const ModelConfig& config, int max_rows);
  static std::uint64_t scratch_bytes(const ModelConfig& config, int max_rows);

  /// out = the result for `rows` rows of x, [rows, width of the model], but for the bias of down. `out` may be `x`.
  void compute(const DenseFfnSpec& spec, const DenseFfnTensors<CardForm>& w, const float* x, int rows, float* out);

 private:
  explicit CardDenseFfn(CardContext& context) : context_(&context) {}

  CardContext* context_;
  CardMemory gate_, up_;  // [max_rows, feed-forward width]
};

}  // namespace octavo::gpu
