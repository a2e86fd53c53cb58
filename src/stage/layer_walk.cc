#include "stage/layer_walk.h"

namespace octavo {

void LayerWalk::walk(LayerRange layers, int last_with_state, StepRows& rows) {
  if (!layers.is_empty()) norm_input(layers.first);
  for (int i = layers.first; i < layers.end; ++i) {
    if (i == last_with_state) find_spoiled();
    const Batch& batch = rows.batch();
    const bool narrows = i == last_with_state && batch.logit_rows.size() < batch.tokens.size();
    if (narrows) {
      write_state(i);
      rows.keep_logit_rows();
      if (rows.count() == 0) return;
      keep_logit_rows();
      norm_input(i);
    }
    run_layer(i, narrows);
  }
}

}  // namespace octavo
