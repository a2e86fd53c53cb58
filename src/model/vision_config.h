// The configuration of a vision encoder (a tower): the keys of a file beside a text model, checked.
//
// A picture is cut into patches, a row each. Layers of an encoder compute the rows, a merger joins those of
// neighbouring patches to a token, a row of the text model's width. Sizes are in elements.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "model/config.h"
#include "model/layer_spec.h"
#include "source/model_source.h"

namespace octavo {

/// Whether a source is a file with an encoder of pictures or sound, which has no words and no text model.
bool is_encoder_file(const ModelSource& source);
/// Fails for such a file where a text model is expected.
Result<void> refuse_encoder_file(const ModelSource& source);

/// What a text model says of the pictures that it reads.
struct SeeingModel {
  int width = 0;          // of its rows
  int num_deepstack = 0;  // the vectors of a token that it adds beside the first
};

/// What an encoder has learned about the places of patches, and adds to their rows.
enum class LearnedPlaces : std::uint8_t {
  kNone,
  kSquare,   // a square, which is interpolated to a picture's grid: corner on corner
  kSpread,   // the same, edge on edge, and each place of a smaller grid is made of all that it covers
  kTables,   // a table for columns and one for rows, which are added
  kBuckets,  // the square as it is: a place is the line in which its share of the picture's side begins
  kSampled,  // the square, edge on edge, between its two nearest lines; nothing lies outside. Patches, counted row by
             // row, take the places of a picture whose sides are exchanged
};

/// How heads turn with the places of patches (RoPE in two dimensions).
enum class PatchTurns : std::uint8_t {
  kNone,
  kWholeHeads,  // half of a head's pairs by the row, then half by the column
  kNeighbours,  // the same of pairs that are neighbours; the columns' frequencies lie between the rows'
  kHalfHeads,   // the first half of a head by the column, the second by the row, each as a head of its own
  kHalves,      // the first half of a head's neighbouring pairs by the column, the second by the row
};

/// The norms that make a patch's row, all of the encoder's kind. Stems of tensors; empty: there is no such norm.
struct PatchNorms {
  std::string_view pixels = {};   // of the pixels' numbers, in front of the product
  std::string_view product = {};  // of the product's result, with its bias
  std::string_view placed = {};   // of the row with its learned place
  float epsilon = 0;
};

/// How the rows of a token's patches become one.
enum class PatchJoin : std::uint8_t {
  kPatches,    // one behind another
  kChannels,   // for each element those of all patches
  kMean,       // the mean, times the root of the width
  kPlainMean,  // the mean
};

/// The making of tokens behind the layers: down(gelu(up row)), or a product alone. Stems of tensors; empty: there is no
/// such tensor.
struct MergerSpec {
  PatchJoin join = PatchJoin::kPatches;
  std::string_view patch_norm = {};   // of each patch in front of the joining
  std::string_view joined_norm = {};  // of the joined row, with an epsilon of its own
  NormKind joined_kind = NormKind::kLayer;
  float joined_epsilon = 0;
  bool norms_plainly = false;    // the joined row, without weights (RMSNorm)
  bool standardizes = false;     // the joined row is moved and scaled by learned numbers in front of that
  std::string_view reduce = {};  // the product that makes a row of the encoder's width of the joined one
  int hidden_width = 0;          // of up's result; 0: there is one product
  std::string_view up = {}, down = {};
  bool down_is_transposed = false;  // the file has down's columns as its rows
  std::string_view between = {};    // a product between both, behind which GELU stands too; mostly absent
};

/// The joining of rows behind a layer, of which the others have fewer: those of four patches attend to each other, then
/// become one, their mean and down(gelu(up joined)).
struct RowJoinSpec {
  static constexpr int kSide = 2;  // patches along a side
  static constexpr int kRows = kSide * kSide;
  int behind = -1;  // the layer in front; -1: rows are not joined
  int hidden_width = 0;
};

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
  int most_tokens = 0;                 // the most for which the encoder has places; 0: any number
  int tile_side = 0;                   // the side of a tile in pixels, of families that cut pictures
  int longest_side = 0;                // the most pixels along a side of a picture, where the file bounds it
  LearnedPlaces places = LearnedPlaces::kSquare;
  int grid_side = 0;  // the side of the square of learned positions, or the places of each table
  PatchTurns turns = PatchTurns::kWholeHeads;
  int first_turn = 0;                              // the number of the first row and column
  std::array<float, 3> mean = {}, deviation = {};  // a channel c becomes (c / 255 - mean) / deviation
  NormKind norm = NormKind::kLayer;                // the kind of all norms
  float norm_epsilon = 0;                          // of all norms
  PatchNorms patch_norms;
  bool has_patch_rows = false;  // the file has the matrix of patches as rows, not as kernels
  bool swaps_ffn = false;       // files call the first product of a feed-forward ffn_down, and the second ffn_up
  bool quick_gelu = false;      // between the products of a feed-forward stands x sigmoid(1.702 x)
  bool clamps = false;  // the inputs and outputs of the layers' products are bounded, each by numbers of its own
  std::vector<LayerSpec> layers;  // none: tokens are made of patches at once
  int window_side = 0;            // the side in patches of the windows within which some layers attend; 0: none does
  std::vector<bool> in_windows;   // [layers] those layers; empty: none
  RowJoinSpec row_join;
  MergerSpec merger;
  std::vector<int> deepstack_layers;  // after each of them, a merger of its own makes one more vector per token

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// The number of patches in a token.
  int token_patches() const { return merge_side * merge_side; }
  bool joins_rows() const { return row_join.behind >= 0; }
  /// The number of rows that a merger joins to a token.
  int token_rows() const { return joins_rows() ? token_patches() / RowJoinSpec::kRows : token_patches(); }
  bool attends_in_windows(int layer) const { return !in_windows.empty() && in_windows[to_size(layer)]; }
  /// The side of a token in pixels; the sides of a picture are multiples of it.
  int token_side() const { return patch_side * merge_side; }
  /// The number of values in a patch: its pixels in three channels.
  int patch_width() const { return 3 * patch_side * patch_side; }
  /// The width of joined patches, which a merger reads.
  int merged_width() const { return takes_mean() ? width : token_rows() * width; }
  /// Whether a token is a mean of its patches.
  bool takes_mean() const { return merger.join == PatchJoin::kMean || merger.join == PatchJoin::kPlainMean; }
  /// The width of the row that a merger's last products read.
  int projected_width() const { return merger.reduce.empty() ? merged_width() : width; }
  /// The attention and the feed-forward of all layers; without layers those of no heads and no width.
  const AttentionSpec& attention() const;
  const DenseFfnSpec& feed_forward() const;
  /// The number of vectors for each token: one in the embedding's place, and one for each DeepStack layer.
  int num_vectors() const { return 1 + static_cast<int>(deepstack_layers.size()); }
  /// The number of floats for each token.
  int token_floats() const { return num_vectors() * text_width; }

  /// The bytes of a picture's rows, keys and values while it is encoded, for so many patches.
  std::uint64_t rows_bytes(std::int64_t patches) const;

  /// Error: a text model cannot read its tokens. It has the numbers of both.
  Result<void> check_fits(const SeeingModel& model) const;
};

/// The names of all families with commas between: "qwen3vl_merger".
std::string supported_vision_families();

}  // namespace octavo
