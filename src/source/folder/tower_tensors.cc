#include <algorithm>

#include "base/stop_check.h"
#include "base/text.h"
#include "source/folder/tensor_maker.h"
#include "source/folder/tower.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

/// The name after a prefix of the family; empty: the tensor is of another part of the model.
std::string_view name_in_tower(const TowerFamily& family, std::string_view name) {
  for (const std::string_view prefix : family.prefixes)
    if (take_prefix(name, prefix)) return name;
  return {};
}

std::optional<TensorPlace> place_of(const TowerFamily& family, std::string_view name,
                                    std::span<const std::uint64_t> deepstack) {
  if (auto whole = place_in_table(family.whole_names, name)) return whole;
  const bool is_of_layer = !family.layers.empty() && take_prefix(name, family.layers);
  if (!is_of_layer && (family.deepstack.empty() || !take_prefix(name, family.deepstack))) return std::nullopt;
  const auto number = take_number(name);
  if (!number || (!is_of_layer && *number >= deepstack.size())) return std::nullopt;
  auto place = place_in_table(is_of_layer ? family.layer_names : family.deepstack_names, name);
  if (place)
    place->name = is_of_layer ? fmt::format("v.blk.{}.{}", *number, place->name)
                              : fmt::format("{}{}.{}", vision_names::kDeepstack, deepstack[*number], place->name);
  return place;
}

}  // namespace

Result<std::vector<NamedTensor>> list_tower_tensors(const Checkpoint& checkpoint, const TowerFamily& family,
                                                    const JsonObject& vision, const std::stop_token& stop) {
  OCTAVO_TRY(const std::vector<std::uint64_t> deepstack, deepstack_layers(vision));
  std::optional<std::uint64_t> heads;
  if (family.pairs_neighbours) {
    OCTAVO_TRY(heads, vision.size("num_attention_heads"));
  }
  TensorMaker maker = TensorMaker::of_tower(heads, family.adds_one_to_norms);
  std::vector<NamedTensor> list;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    const std::string_view name = name_in_tower(family, tensor.stored->name);
    if (name.empty() || name.ends_with(".inv_freq")) continue;
    const auto place = place_of(family, name, deepstack);
    if (!place) return fail("{} has no place in an encoder of the family {}", shown(tensor), family.name);
    OCTAVO_TRY_VOID(maker.add(tensor, *place, list));
  }
  if (list.empty()) return fail("the checkpoint has no tensors of an encoder of the family {}", family.name);
  std::ranges::stable_sort(list, {}, [](const NamedTensor& t) { return t.data->place(); });
  return list;
}

}  // namespace octavo
