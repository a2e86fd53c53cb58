// The families of models that Hugging Face folders are read of: one row of a table each, which tells how config.json
// becomes GGUF's keys and the checkpoint's tensors GGUF's tensors.
//
// Names, orders of rows and values are those that llama.cpp's convert_hf_to_gguf.py writes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_file.h"
#include "source/folder/directory_builder.h"

namespace octavo {

/// What all keys of a model are made of.
struct FamilyKeys {
  JsonObject config;   // of the language model, if the folder's model has other parts
  std::string prefix;  // GGUF's architecture with a dot: "llama."
  DirectoryBuilder& out;

  std::string key(std::string_view suffix) const { return prefix + std::string(suffix); }
};

/// How a stored tensor becomes one of GGUF's, or two.
enum class TensorForm {
  kRows,                  // as it lies; vectors and what GGUF has as F32 are converted
  kVector,                // a matrix of one row
  kValueHeads,            // rows of value heads, which stand by their key head, take turns over the key heads
  kValueHeadsBehindKeys,  // the same behind the rows of Q and K
  kValueHeadColumns,      // the same of columns
  kConvolution,           // kValueHeadsBehindKeys of [channels, 1, taps]
  kDecay,                 // kValueHeads of logarithms: becomes minus their exponential
  kGateThenUp,            // [experts, gate's rows and behind them up's, columns]
  kTransposedGateAndUp,   // [experts, columns, gate's rows and up's in turns]
  kTransposed,            // [experts, columns, rows]
  kGateAndUpBiases,       // [experts, gate's and up's in turns]
  kCodesOfGateAndUp,      // MXFP4, gate's rows and up's in turns; with the scales beside them
  kCodes,                 // MXFP4
  kScales,                // of either
};

/// A name in a layer of a checkpoint, and GGUF's. Without an ending of its own ("weight", "bias") it stands for both.
struct TensorName {
  std::string_view from, to;
  TensorForm form = TensorForm::kRows;
};

struct Family {
  std::string_view model;         // as config.json's "architectures" has it
  std::string_view architecture;  // GGUF's
  Result<void> (*add_keys)(const FamilyKeys& keys);
  /// Names that other families do not have, or have another meaning for.
  std::span<const TensorName> own_names = {};
  /// Divisors of the rotation's frequencies; nullptr: those of Llama 3, where config.json asks for them.
  Result<std::vector<float>> (*rope_factors)(const JsonObject& config) = nullptr;
  /// GGUF's file pairs neighbours where the checkpoint pairs the halves of a head: rows of Q and K change places.
  bool pairs_neighbours = false;
  bool adds_one_to_norms = false;  // a norm multiplies by one more than the checkpoint's weight
  bool has_norms_behind = false;   // of attention, and of feed-forward where it has one
  bool has_other_parts = false;    // the language model's tensors have a prefix of their own, others are left out
  bool has_mxfp4 = false;          // experts may be stored in MXFP4
};

/// nullptr: no such family.
const Family* find_family(std::string_view model);
/// All of "architectures" that are known, separated by ", ".
std::string family_names();

/// A tensor's place in GGUF.
struct TensorPlace {
  std::string name;  // of two the gate's
  TensorForm form = TensorForm::kRows;
  std::optional<std::uint64_t> expert = {};  // a row of matrices is made of one for each expert
};

/// None: GGUF has no place for a tensor of this name.
std::optional<TensorPlace> place_of_tensor(const Family& family, std::string_view name);
/// True for tensors that say nothing that is needed: tables that the config gives, too, layers that predict further
/// tokens, and other parts of the model.
bool is_left_out(const Family& family, std::string_view name);

}  // namespace octavo
