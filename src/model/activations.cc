#include "model/activations.h"

#include <algorithm>

namespace octavo {
namespace {

std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

}  // namespace

QuantizedRows::QuantizedRows(int max_rows, int max_cols)
    : q_(product(max_rows, max_cols)),
      scale_(product(max_rows, max_cols / 32 + 1)),
      sum32_(scale_.size()),
      sum16_(2 * scale_.size()),
      bias_(scale_.size()) {}

QuantizedRow QuantizedRows::row(std::int64_t row, std::int64_t cols) {
  return {.q = q_.data() + row * cols,
          .scale = scale_.data() + row * (cols / 32),
          .sum32 = sum32_.data() + row * (cols / 32),
          .sum16 = sum16_.data() + row * (cols / 16),
          .bias = bias_.data() + row * (cols / 32)};
}

ActivationRows QuantizedRows::view(const float* x, std::int64_t cols) const {
  return {.cols = cols,
          .x = x,
          .q = q_.data(),
          .scale = scale_.data(),
          .sum32 = sum32_.data(),
          .sum16 = sum16_.data(),
          .bias = bias_.data()};
}

Activations::Activations(const ModelConfig& c, int max_rows, int max_logit_rows)
    : x(product(max_rows, c.width)),
      h(product(max_rows, c.width)),
      q(product(max_rows, c.q_width())),
      k(product(max_rows, c.kv_width())),
      v(product(max_rows, c.kv_width())),
      attended(product(max_rows, c.q_width())),
      gate(product(max_rows, c.ffn_width)),
      up(product(max_rows, c.ffn_width)),
      int8(max_rows, std::max({c.width, c.q_width(), c.ffn_width})),
      cosines(product(max_rows, c.head_dim / 2)),
      sines(product(max_rows, c.head_dim / 2)),
      local_cosines(c.window > 0 ? cosines.size() : 0),
      local_sines(c.window > 0 ? cosines.size() : 0),
      logit_h(product(max_logit_rows, c.width)),
      logits(product(max_logit_rows, c.vocab_size)) {}

}  // namespace octavo
