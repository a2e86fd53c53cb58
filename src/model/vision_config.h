// The configuration of a vision encoder (a tower): the keys of a file beside a text model, checked.
//
// A picture is cut into patches, a row each. Layers of an encoder compute the rows, a merger joins those of
// neighbouring patches to a token, a row of the text model's width. Sizes are in elements.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/layer_spec.h"
#include "source/model_source.h"

namespace octavo {

/// Whether a source is a file with an encoder of pictures or sound, which has no words and no text model.
bool is_encoder_file(const ModelSource& source);
/// Fails for such a file where a text model is expected.
Result<void> refuse_encoder_file(const ModelSource& source);

/// Hyperparameters, checked against each other.
struct VisionConfig {
  /// Reads and checks the keys. Errors name the key; an unknown family is named with those that are known.
  static Result<VisionConfig> load(const ModelSource& source);

  std::string family;                  // clip.projector_type
  std::string name;                    // general.name, or the file's name where it has none
  int width = 0;                       // the width of a patch's row
  int text_width = 0;                  // the width of a token's row: the text model's
  int patch_side = 0;                  // the side of a patch in pixels
  int merge_side = 0;                  // the number of patches along each side of a token
  int min_tokens = 0, max_tokens = 0;  // the tokens of a picture; 0: the file does not say
  int grid_side = 0;                   // the side of the square of learned positions, which are interpolated
  std::array<float, 3> mean = {}, deviation = {};  // a channel c becomes (c / 255 - mean) / deviation
  float norm_epsilon = 0;                          // for all norms, which are LayerNorm
  std::vector<LayerSpec> layers;
  std::vector<int> deepstack_layers;  // after each of them, a merger of its own makes one more vector per token

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// The number of patches in a token.
  int token_patches() const { return merge_side * merge_side; }
  /// The side of a token in pixels; the sides of a picture are multiples of it.
  int token_side() const { return patch_side * merge_side; }
  /// The number of values in a patch: its pixels in three channels.
  int patch_width() const { return 3 * patch_side * patch_side; }
  /// The width of joined patches, which a merger reads.
  int merged_width() const { return token_patches() * width; }
  /// The number of vectors for each token: one in the embedding's place, and one for each DeepStack layer.
  int num_vectors() const { return 1 + static_cast<int>(deepstack_layers.size()); }
  /// The number of floats for each token.
  int token_floats() const { return num_vectors() * text_width; }

  /// The bytes of a picture's rows, keys and values while it is encoded, for so many patches.
  std::uint64_t rows_bytes(std::int64_t patches) const;

  /// Error: a text model with rows of `width` that adds `num_deepstack` more vectors cannot read its tokens. It has the
  /// numbers of both.
  Result<void> check_fits(int model_width, int num_deepstack) const;
};

/// The names of all families with commas between: "qwen3vl_merger".
std::string supported_vision_families();

}  // namespace octavo
