// The families of models that Hugging Face folders are read of: one row of a table each, which tells how config.json
// becomes GGUF's keys and the checkpoint's tensors GGUF's tensors.
//
// Names, orders of rows and values are those that llama.cpp's convert_hf_to_gguf.py writes.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/math.h"
#include "json/json_file.h"
#include "source/folder/directory_builder.h"
#include "source/folder/multiplied_rows.h"

namespace octavo {

/// The inputs of all keys of a model.
struct FamilyKeys {
  JsonObject config;   // the config of the language model, if the folder's model has other parts
  JsonObject whole;    // the config of all parts
  std::string prefix;  // GGUF's architecture with a dot: "llama."
  DirectoryBuilder& out;

  std::string key(std::string_view suffix) const { return prefix + std::string(suffix); }
};

/// The way in which a stored tensor becomes one of GGUF's, or two.
enum class TensorForm {
  kRows,                  // as it lies; vectors and what GGUF has as F32 are converted
  kVector,                // a vector, or a matrix of one row
  kValueHeads,            // rows of value heads, which stand by their key head, take turns over the key heads
  kValueHeadsBehindKeys,  // kValueHeads behind the rows of Q and K
  kValueHeadColumns,      // kValueHeads of columns
  kConvolution,           // kValueHeadsBehindKeys of [channels, 1, taps]
  kShortConvolution,      // [channels, 1, taps]
  kColumn,                // a vector becomes a column, here and below
  kDecayColumn,           // of logarithms: becomes minus their exponential
  kGroupNorm,             // a vector becomes a row for each group of heads of Mamba-2
  kGateThenUpRows,        // gate's rows and behind them up's, of a matrix: of the expert for every row, or of the dense
                          // feed-forward where there are no experts
  kDownRows,              // as it lies, of the same
  kByKeyHead,             // for each key head its rows of Q and K, then those of V and the gate of its value heads
  kDecay,                 // kValueHeads of logarithms: becomes minus their exponential
  kGateThenUp,            // [experts, gate's rows and behind them up's, columns]
  kTransposedGateAndUp,   // [experts, columns, gate's rows and up's in turns]
  kTransposedGateThenUp,  // [experts, columns, gate's rows and behind them up's]
  kGateThenUpOfEither,    // [experts, columns, gate's rows and behind them up's], or kGateThenUp: by the width
  kDownOfEither,          // kTransposed, or as it lies: by the width
  kTransposed,            // [experts, columns, rows]
  kGateAndUpBiases,       // [experts, gate's and up's in turns]
  kCodesOfGateAndUp,      // MXFP4, gate's rows and up's in turns; with the scales beside them
  kCodes,                 // MXFP4
  kScales,                // of either
  kBehindPadding,         // rows of positions behind those that count the padding token, which nobody has
  kKeysThenValues,        // for each head the rows that make its keys, which GGUF has by columns, and its values
  kNumbers,               // of two to four dimensions, as F32
  kNumber,                // one number, perhaps without a dimension
  kPixelRows,             // [rows, side, side, 3]: becomes F32 [rows, 3, side, side], a kernel
  kPixels,                // [..., side x side x 3]: becomes F32 [..., 3 x side x side], a row for each row, or a vector
  kTables,                // [places, 2, columns]: becomes [2, places, columns], a table behind the other
  kQueriesKeysValues,     // the rows of Q, K and V, as many of each: become a tensor each
  kFrameRows,             // [rows, 2 frames x 3 x side x side]: becomes the F32 kernel [rows, 3, side, side], their sum
  kFrames,                // [rows, 3, 2 frames, side, side]: becomes the F32 kernel of each frame
};

/// A tensor's name in a layer of a checkpoint, and GGUF's; without an ending ("weight", "bias") it stands for both.
struct TensorName {
  std::string_view from, to;
  TensorForm form = TensorForm::kRows;
};

/// The rows of both tables, for families that share some of their names.
template <std::size_t A, std::size_t B>
constexpr std::array<TensorName, A + B> rows_of_both(const TensorName (&a)[A], const TensorName (&b)[B]) {
  std::array<TensorName, A + B> rows;
  std::ranges::copy(b, std::ranges::copy(a, rows.begin()).out);
  return rows;
}

/// A vector that GGUF has and the checkpoint has not.
struct MadeVector {
  std::string name;
  std::vector<float> numbers;
};

struct Family {
  std::string_view model;         // the name in "architectures" of config.json
  std::string_view architecture;  // GGUF's
  Result<void> (*add_keys)(const FamilyKeys& keys);
  /// Names that other families do not have, or that mean something else there: of layers, and of what is no layer's.
  std::span<const TensorName> own_names = {};
  std::span<const TensorName> own_whole_names = {};
  std::string_view layers = "model.layers.";  // in front of a layer's number
  std::string_view base = {};                 // in front of all names where the model has a head; empty: nothing
  std::string_view old_base = {};             // in its place, as the makers' own code saves them
  /// Divisors of the rotation's frequencies; nullptr: those of Llama 3, where config.json asks for them.
  Result<std::vector<float>> (*rope_factors)(const JsonObject& config, Math math) = nullptr;
  /// Vectors that follow from config.json; nullptr: none.
  Result<std::vector<MadeVector>> (*made_vectors)(const JsonObject& config) = nullptr;
  /// The factors by which config.json multiplies the rows of a tensor of GGUF's name; empty, or nullptr: none.
  Result<std::vector<RowFactor>> (*row_factors)(const JsonObject& config, std::string_view name) = nullptr;
  /// Tensors of one number in each layer, which GGUF has as keys.
  std::span<const TensorName> layer_numbers = {};
  /// GGUF's file pairs neighbours where the checkpoint pairs the halves of a head: rows of Q and K change places.
  bool pairs_neighbours = false;
  bool adds_one_to_norms = false;  // a norm multiplies by one more than the checkpoint's weight
  bool keeps_last_norm = false;    // of these, the last norm of the model
  bool keeps_value_heads = false;  // GGUF's file has the value heads of a delta net in the checkpoint's order
  bool ties_output = false;        // where config.json does not say
  bool has_norms_behind = false;   // a norm behind attention, and one behind the feed-forward
  bool has_other_parts = false;    // the language model's tensors have a prefix of their own, others are left out
  bool has_layers_behind = false;  // layers behind those that config.json counts predict further tokens
  bool has_mxfp4 = false;          // experts may be stored in MXFP4
  bool is_encoder = false;         // there is no output matrix
  std::string_view tower = {};     // the family of the folder's encoder of pictures (tower.h); empty: none is known
};

/// A family by name; nullptr: there is no such family.
const Family* find_family(std::string_view model);
/// The names of all families, separated by ", ".
std::string family_names();

/// The place of a stored tensor among GGUF's.
struct TensorPlace {
  std::string name;  // the first name is the gate's where there are two
  TensorForm form = TensorForm::kRows;
  std::optional<std::uint64_t> expert = {};  // of the matrix, or the head of a norm; a tensor is made of one for each
};

/// The place of a stored tensor; none: GGUF has no place for the name.
std::optional<TensorPlace> place_of_tensor(const Family& family, std::string_view name);
/// The place of a name that is whole in the table, or stands there without its ending.
std::optional<TensorPlace> place_in_table(std::span<const TensorName> names, std::string_view name);
/// Takes `prefix` away from the front of `text`, if it is there.
bool take_prefix(std::string_view& text, std::string_view prefix);
/// Takes a number and the dot behind it.
std::optional<std::uint64_t> take_number(std::string_view& text);
/// The key that a tensor of one number is of, and its layer; none: it is none of the family's layer_numbers.
struct LayerNumberPlace {
  std::string_view key;
  std::uint64_t layer;
};
std::optional<LayerNumberPlace> place_of_layer_number(const Family& family, std::string_view name);
/// Whether a tensor is not needed: tables that the config gives too, layers that predict further tokens, and other
/// parts of the model, which has `num_layers`.
bool is_left_out(const Family& family, std::string_view name, std::uint64_t num_layers);

}  // namespace octavo
