// A model, described: what it takes of its file's keys, checked. Layers are in layer_spec.h, families in
// architectures/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "base/to_size.h"
#include "model/layer_spec.h"
#include "octavo/embedding.h"
#include "source/model_source.h"

namespace octavo {

/// The norms of rows: RMSNorm (Zhang and Sennrich, 2019), or LayerNorm (Ba, Kiros and Hinton, 2016).
enum class NormKind : std::uint8_t { kRms, kLayer };

/// The head that makes a vector, or scores, of pooled rows: what tensors of it a file has.
struct HeadSpec {
  int width = 0;                         // of the vector
  int num_scores = 0;                    // rows of its last matrix; 0: it ranks nothing
  std::vector<std::string> labels = {};  // of the scores, where the file names them
  Pooling pooling = Pooling::kCls;       // of the row that it reads
  bool gelu = false;                     // the function behind its first matrix; otherwise tanh
};

/// Hyperparameters, checked against each other. Sizes are in elements.
struct ModelConfig {
  /// Reads and checks `file`'s metadata. Errors name the key. A file without tensors (vocabulary only) is an error.
  /// `context`: the tokens of the longest sequence that is served, by which a model with two lists of RoPE factors
  /// takes one; 0: the context that it was trained for.
  static Result<ModelConfig> load(const ModelSource& source, Math math = Math(), int context = 0);

  std::string architecture;  // general.architecture
  std::string name;          // general.name, or the file's name where it has none
  int vocab_size = 0;        // rows of the embedding
  int width = 0;             // embedding_length
  int context_length = 0;    // the context that the model was trained for
  NormKind norm = NormKind::kRms;
  float norm_epsilon = 0;               // of all norms
  bool epsilon_is_layer_norms = false;  // files call it that of LayerNorm, whatever the kind
  float post_norm_epsilon = 0;          // of those of what the mixer and the feed-forward give; 0: the same
  float embedding_scale = 1;
  float residual_scale = 1;  // of what a layer's mixer and feed-forward give, before it is added to the stream
  Presence embedding_norm = Presence::kAbsent;
  bool normalizes_embedding = false;  // a norm without weights, of the embeddings of tokens alone
  int num_positions = 0;              // positions with a learned embedding; 0: there are none
  int num_token_types = 0;            // parts of a pair of texts that have an embedding; 0: they have none
  bool is_encoder = false;  // a row sees those behind it, nothing is kept between steps, and there is no output matrix
  Presence output_norm = Presence::kRequired;
  bool output_norm_is_embedding_norm = false;  // files call it token_embd_norm
  Presence output_norm_bias = Presence::kAbsent;
  std::optional<Pooling> pooling = {};  // the pooling that the file asks for
  HeadSpec head = {};
  int per_layer_width = 0;  // of the embedding that a token has for each layer (per_layer_embedding.h); 0: none
  Presence logit_bias = Presence::kAbsent;  // added to logits before the cap
  float logit_scale = 1;                    // multiplies logits, before the cap
  float logit_soft_cap = 0;                 // a logit x becomes logit_soft_cap tanh(x / logit_soft_cap); 0: it stays
  bool tied_output = false;                 // the output matrix is the embedding
  std::vector<LayerSpec> layers;            // behind the model's own: the draft head's, if there is one
  int num_skipped_layers = 0;  // behind the model's, in the file: layers of prediction, of which its logits need
                               // nothing
  std::optional<LayerSpec> prediction_layer = {};  // the layer of prediction, where the file has it alone
  bool has_draft_head = false;                     // the layer of prediction is computed, for drafts
  int num_deepstack = 0;  // further vectors of a picture's rows, which as many first layers add (DeepStack)
  int joint_rows = 0;     // the most rows of a picture that is given, where these see each other in some layers; 0: no
                          // pictures are, or their rows see only those before them
  int model_width = 0;  // of the model that it is an assistant of (model/assistant.h), whose keys and values its layers
                        // read; 0: it is none

  bool is_assistant() const { return model_width > 0; }
  float epsilon_of_results() const { return post_norm_epsilon > 0 ? post_norm_epsilon : norm_epsilon; }
  /// The list of RoPE factors of its layers.
  RopeFactors rope_factors() const;
  /// Takes the layer of prediction, which must be there, as a draft head.
  void add_draft_head();

  /// Floats of a row's embeddings for all layers (per_layer_width of each).
  int num_per_layer_inputs() const { return num_layers() * per_layer_width; }
  /// The model's own layers. The draft head's has the number behind the last one.
  int num_layers() const { return static_cast<int>(layers.size()) - (has_draft_head ? 1 : 0); }
  std::span<const LayerSpec> own_layers() const { return std::span(layers).first(to_size(num_layers())); }
  const LayerSpec& layer(int i) const { return layers[to_size(i)]; }
  /// Whether the rows of a picture see each other in some layers.
  bool joins_pictures() const;
  /// Behind this layer nothing is written that later rows read, so only rows whose logits are wanted go on. It is the
  /// draft head's where there is one.
  int last_layer_with_state() const;
};

}  // namespace octavo
