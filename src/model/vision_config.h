// A vision encoder (a tower), described: what a file beside a text model says of it in its keys, checked.
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
/// The error of such a file where a text model is expected.
Result<void> refuse_encoder_file(const ModelSource& source);

/// Hyperparameters, checked against each other.
struct VisionConfig {
  /// Reads and checks the keys. Errors name the key; an unknown family is named with those that are known.
  static Result<VisionConfig> load(const ModelSource& source);

  std::string family;                  // clip.projector_type
  std::string name;                    // general.name, or the file's name where it has none
  int width = 0;                       // of a patch's row
  int text_width = 0;                  // of a token's row: the text model's
  int patch_side = 0;                  // in pixels
  int merge_side = 0;                  // patches of a token on either side
  int min_tokens = 0, max_tokens = 0;  // of a picture; 0: the file says nothing
  int grid_side = 0;                   // of the square of learned positions, which are interpolated to a picture's
  std::array<float, 3> mean = {}, deviation = {};  // a channel c is (c / 255 - mean) / deviation
  float norm_epsilon = 0;                          // of all norms, which are LayerNorm
  std::vector<LayerSpec> layers;
  std::vector<int> deepstack_layers;  // those behind which a merger of its own makes one more vector of each token

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// Patches of a token.
  int token_patches() const { return merge_side * merge_side; }
  /// The side in pixels of what a token sees; those of a picture are multiples of it.
  int token_side() const { return patch_side * merge_side; }
  /// Numbers of a patch: of its pixels in three channels.
  int patch_width() const { return 3 * patch_side * patch_side; }
  /// Patches joined to a row, which a merger reads.
  int merged_width() const { return token_patches() * width; }
  /// The vectors of a token: one for the embedding's place, one for each DeepStack layer.
  int num_vectors() const { return 1 + static_cast<int>(deepstack_layers.size()); }
  /// Floats of a token.
  int token_floats() const { return num_vectors() * text_width; }

  /// Rows, keys and values of a picture of so many patches while it is encoded, in bytes.
  std::uint64_t rows_bytes(std::int64_t patches) const;

  /// Whether a text model with rows of `width` that adds `num_deepstack` more vectors can read its tokens. The error
  /// has the numbers of both.
  Result<void> check_fits(int model_width, int num_deepstack) const;
};

/// "qwen3vl_merger", or a list of names with commas.
std::string supported_vision_families();

}  // namespace octavo
