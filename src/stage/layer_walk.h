// The way of a step's rows through a stage's layers, the same on every device.
//
// After the model's last layer that writes state, only rows whose logits are wanted go on. For the other rows, nearly
// all of a prompt's, that layer computes nothing but its state.
#pragma once

#include "kv/layer_range.h"
#include "stage/step_rows.h"

namespace octavo {

/// The steps of the walk. A device may compute them at once or collect them; the order is what counts.
class LayerWalk {
 protected:
  ~LayerWalk() = default;

  /// Takes the rows through the layers. `last_with_state`: ModelConfig::last_layer_with_state().
  void walk(LayerRange layers, int last_with_state, StepRows& rows);

 private:
  /// Norms all rows under way into the input of a layer's first part: for the first layer, and where the rows have
  /// become fewer. Where this layer has no part, it is the input of a later one.
  virtual void norm_input(int layer) = 0;
  /// Looks for rows that are not finite.
  virtual void find_spoiled() = 0;
  /// Computes what the layer's mixer leaves for later rows, and nothing else of the layer.
  virtual void write_state(int layer) = 0;
  /// Makes row i what row logit_rows[i] of the batch was.
  virtual void keep_logit_rows() = 0;
  /// Computes a layer, and the input of the next one of the stage. `state_written`: write_state() was called for it.
  virtual void run_layer(int layer, bool state_written) = 0;
};

}  // namespace octavo
