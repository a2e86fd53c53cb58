#include "model/activations.h"

#include <algorithm>

#include "model/multiply.h"

namespace octavo {
namespace {

std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

}  // namespace

QuantizedRows::QuantizedRows(int max_rows, int max_cols, int tile_rows)
    : tile_rows_(tile_rows), tiles_(static_cast<std::size_t>(max_rows) * act_row_bytes(max_cols)) {}

Activations::Activations(const ModelConfig& c, int max_rows, int max_logit_rows, int tile_rows, int num_threads)
    : x(product(max_rows, c.width)),
      h(product(max_rows, c.width)),
      q(product(max_rows, c.q_width())),
      k(product(max_rows, c.kv_width())),
      v(product(max_rows, c.kv_width())),
      attended(product(max_rows, c.q_width())),
      gated(product(max_rows, c.ffn_width)),
      pairs(product(num_threads, static_cast<int>(gated_scratch_floats(max_rows)))),
      int8(max_rows, std::max(c.width, c.q_width()), tile_rows),
      gated_int8(max_rows, c.ffn_width, tile_rows),
      cosines(product(max_rows, c.head_dim / 2)),
      sines(product(max_rows, c.head_dim / 2)),
      local_cosines(c.window > 0 ? cosines.size() : 0),
      local_sines(c.window > 0 ? cosines.size() : 0),
      logits(product(max_logit_rows, c.vocab_size)) {}

}  // namespace octavo
