#include "cpu/dense_ffn.h"

#include <algorithm>

#include "base/to_size.h"
#include "model/largest.h"

namespace octavo {

DenseFfn::DenseFfn(const ModelConfig& config, ComputeContext& context, ResidualStream& stream)
    : DenseFfn(widest_dense(config.layers), context, stream) {}

DenseFfn::DenseFfn(int most_units, ComputeContext& context, ResidualStream& stream)
    : context_(context),
      stream_(stream),
      gated_(context.make_rows(most_units)),
      gated_scratch_(to_size(context.pool.num_threads()) * to_size(gated_scratch_floats(context.max_rows))),
      gated_quantized_(context.make_quantized_rows(most_units)) {}

void DenseFfn::run(const DenseFfnSpec& spec, const DenseFfnWeights& w, int rows, const Epilogue& epilogue) {
  compute(spec, w, rows, stream_.h());
  context_.enter(StepPart::kRows);
  const std::int64_t width = w.down.rows;
  stream_.finish_rows(epilogue, rows, [&](std::int64_t row) {
    if (w.down_bias != nullptr) context_.kernels.add(stream_.h() + row * width, w.down_bias, width);
  });
}

void DenseFfn::compute(const DenseFfnSpec& spec, const DenseFfnWeights& w, int rows, float* out) {
  const RowForms forms = w.down.forms();
  const KernelTable& kernels = context_.kernels;
  context_.enter(StepPart::kGateUp);
  multiply_gated({.gate = &w.gate,
                  .up = spec.is_gated ? &w.up : nullptr,
                  .activate = activation_of(kernels, spec.activation),
                  .out = forms.any() ? nullptr : gated_.data(),
                  .quantized = gated_quantized_.out(forms),
                  .gate_bias = w.gate_bias,
                  .up_bias = w.up_bias,
                  .xielu = spec.activation == Activation::kXielu ? &spec.xielu : nullptr,
                  .limit = spec.limit},
                 stream_.input(), rows, kernels, context_.scratch, gated_scratch_.span(), context_.pool);
  context_.enter(StepPart::kDown);
  context_.multiply(w.down, gated_quantized_.view(gated_.data(), spec.width), rows, out);
}

}  // namespace octavo
