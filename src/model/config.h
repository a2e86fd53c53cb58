// A model, described: what it takes of its file's keys, checked. Layers are in layer_spec.h, families in
// architectures/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "model/layer_spec.h"
#include "source/model_source.h"

namespace octavo {

/// Hyperparameters, checked against each other. Sizes are in elements.
struct ModelConfig {
  /// Reads and checks `file`'s metadata. Errors name the key. A file without tensors (vocabulary only) is an error.
  static Result<ModelConfig> load(const ModelSource& source);

  std::string architecture;  // general.architecture
  std::string name;          // general.name, or the file's name where it has none
  int vocab_size = 0;        // rows of the embedding
  int width = 0;             // embedding_length
  int context_length = 0;    // that the model was trained for
  float rms_epsilon = 0;
  float embedding_scale = 1;
  int per_layer_width = 0;  // of the embedding that a token has for each layer (per_layer_embedding.h); 0: none
  Presence logit_bias = Presence::kAbsent;  // added to logits before the cap
  float logit_soft_cap = 0;                 // a logit x becomes logit_soft_cap tanh(x / logit_soft_cap); 0: it stays
  bool tied_output = false;                 // the output matrix is the embedding
  std::vector<LayerSpec> layers;            // behind the model's own: the draft head's, if there is one
  int num_skipped_layers = 0;  // behind the model's, in the file: layers of prediction, of which its logits need
                               // nothing
  std::optional<LayerSpec> prediction_layer = {};  // that one, where the file has one alone
  bool has_draft_head = false;                     // the layer of prediction is computed, for drafts

  /// Takes the layer of prediction, which must be there, as a draft head.
  void add_draft_head();

  /// Floats of a row's embeddings for all layers (per_layer_width of each).
  int num_per_layer_inputs() const { return num_layers() * per_layer_width; }
  /// The model's own layers. The draft head's has the number behind the last one.
  int num_layers() const { return static_cast<int>(layers.size()) - (has_draft_head ? 1 : 0); }
  std::span<const LayerSpec> own_layers() const { return std::span(layers).first(to_size(num_layers())); }
  const LayerSpec& layer(int i) const { return layers[to_size(i)]; }
  /// Behind this layer nothing is written that later rows read, so only rows whose logits are wanted go on. It is the
  /// draft head's where there is one.
  int last_layer_with_state() const;
};

}  // namespace octavo
