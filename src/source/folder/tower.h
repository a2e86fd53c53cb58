// The encoders of pictures (towers) that Hugging Face folders have beside the language model, under the keys and names
// of GGUF files of encoders (mmproj). Each family is a row of a table.
//
// Names and values are those that llama.cpp's convert_hf_to_gguf.py --mmproj writes. One thread, while a folder is
// opened.
#pragma once

#include <array>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "source/folder/checkpoint.h"
#include "source/folder/directory_builder.h"
#include "source/folder/family.h"
#include "source/folder/tensor_list.h"

namespace octavo {

/// The inputs of an encoder's keys.
struct TowerKeys {
  JsonObject vision;                     // vision_config
  JsonObject language;                   // the config of the language model
  JsonObject whole;                      // the config of all parts
  std::optional<JsonObject> processing;  // how pictures are prepared, where the folder says it
  DirectoryBuilder& out;
};

struct TowerFamily {
  std::string_view name;  // the projector's type
  Result<void> (*add_keys)(const TowerKeys& keys);
  std::array<float, 3> mean, deviation;        // of the channels, where the folder does not say
  std::span<const std::string_view> prefixes;  // the prefixes of all names, the longest first
  std::span<const TensorName> whole_names;     // the names of tensors outside layers
  std::string_view layers = {};                // the prefix of a layer's number; empty: there are no layers
  std::span<const TensorName> layer_names = {};
  bool adds_one_to_norms = false;   // of what behind the layers is named a norm, as Family
  bool pairs_neighbours = false;    // GGUF's file pairs neighbours where the checkpoint pairs the halves of a head
  std::string_view deepstack = {};  // the prefix of a DeepStack merger's number
  std::span<const TensorName> deepstack_names = {};
};

/// A family by name; nullptr: there is no such family.
const TowerFamily* find_tower(std::string_view name);

/// Adds the keys of the encoder. Errors name the file and the member: it is missing, out of bounds, or asks for
/// something that the family does not compute here.
Result<void> add_tower_keys(const TowerFamily& family, const TowerKeys& keys);

/// The layers after which DeepStack mergers stand, in the order of the mergers. Error: one of them is no layer, or is
/// named twice.
Result<std::vector<std::uint64_t>> deepstack_layers(const JsonObject& vision);

/// The encoder's tensors, in the order of their bytes; other parts of the checkpoint are passed over. Errors: a tensor
/// of the encoder without a place in GGUF, of another shape or type than there; there is none at all; a stop was asked
/// for.
Result<std::vector<NamedTensor>> list_tower_tensors(const Checkpoint& checkpoint, const TowerFamily& family,
                                                    const JsonObject& vision, const std::stop_token& stop);

}  // namespace octavo
