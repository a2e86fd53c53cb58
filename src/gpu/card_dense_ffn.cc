#include "gpu/card_dense_ffn.h"

#include "base/to_size.h"
#include "model/largest.h"

namespace octavo::gpu {

std::uint64_t CardDenseFfn::scratch_bytes(const ModelConfig& config, int max_rows) {
  return 2 * to_size(max_rows) * to_size(widest_dense(config.own_layers())) * sizeof(float);
}

Result<CardDenseFfn> CardDenseFfn::create(CardContext& context, const ModelConfig& config, int max_rows) {
  CardDenseFfn made(context);
  OCTAVO_TRY(made.gate_, context.device.allocate(scratch_bytes(config, max_rows) / 2));
  OCTAVO_TRY(made.up_, context.device.allocate(scratch_bytes(config, max_rows) / 2));
  return made;
}

void CardDenseFfn::compute(const DenseFfnSpec& spec, const DenseFfnTensors<CardForm>& w, const float* x, int rows,
                           float* out) {
  if (w.gate.reads_int8() || (spec.is_gated && w.up.reads_int8())) context_->quantize(x, w.gate.cols, rows);
  context_->multiply(w.gate, x, rows, gate_.as<float>());
  if (spec.is_gated) context_->multiply(w.up, x, rows, up_.as<float>());
  context_->device.launch(
      {.kernel = "octavo_activate_rows", .grid_x = column_blocks(spec.width), .grid_y = rows, .threads = kRowThreads},
      ActivateArguments{.gate = gate_.as<float>(),
                        .up = spec.is_gated ? up_.as<float>() : nullptr,
                        .gate_bias = w.gate_bias,
                        .up_bias = w.up_bias,
                        .out = gate_.as<float>(),
                        .width = spec.width,
                        .activation = spec.activation});
  if (w.down.reads_int8()) context_->quantize(gate_.as<float>(), spec.width, rows);
  context_->multiply(w.down, gate_.as<float>(), rows, out);
}

}  // namespace octavo::gpu
