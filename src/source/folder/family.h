// The families of models that Hugging Face folders are read of: one row of a table each, which tells how config.json
// becomes GGUF's keys and the checkpoint's tensors GGUF's tensors.
//
// Names, orders of rows and values are those that llama.cpp's convert_hf_to_gguf.py writes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

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

struct Family {
  std::string_view model;         // as config.json's "architectures" has it
  std::string_view architecture;  // GGUF's
  Result<void> (*add_keys)(const FamilyKeys& keys);
  /// GGUF's file pairs neighbours where the checkpoint pairs the halves of a head: rows of Q and K change places.
  bool pairs_neighbours = false;
  bool adds_one_to_norms = false;  // a norm multiplies by one more than the checkpoint's weight
  bool has_norms_behind = false;   // of attention and feed-forward, which take the names that others have in front
  /// Where the language model's tensors stand in a checkpoint that has other parts, "" for none.
  std::string_view language_prefix = {};
};

/// nullptr: no such family.
const Family* find_family(std::string_view model);
/// All of "architectures" that are known, separated by ", ".
std::string family_names();

/// A tensor's place in GGUF.
struct TensorPlace {
  std::string name;
  std::optional<std::uint64_t> expert = {};  // a row of matrices is made of one for each expert
};

/// None: GGUF has no place for a tensor of this name.
std::optional<TensorPlace> place_of_tensor(const Family& family, std::string_view name);
/// True for tensors that say nothing that is needed: tables that the config gives, too, and other parts of the model.
bool is_left_out(const Family& family, std::string_view name);

}  // namespace octavo
