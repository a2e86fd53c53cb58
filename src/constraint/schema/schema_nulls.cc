#include "constraint/schema/schema_nulls.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octavo {
namespace {

using Kind = JsonTree::Kind;

/// The kind of a node: a schema or a list of schemas; schemas by name; or a value that schemas speak of.
enum class Part : std::uint8_t { kSchema, kNamed, kValue };

constexpr std::array<std::string_view, 4> kValues = {"const", "enum", "default", "examples"};
constexpr std::array<std::string_view, 6> kNamed = {"properties",  "patternProperties", "$defs",
                                                    "definitions", "dependentSchemas",  "dependencies"};

Part part_of(Part parent, std::string_view key) {
  if (parent == Part::kValue) return Part::kValue;
  if (parent == Part::kNamed) return Part::kSchema;
  if (std::ranges::find(kValues, key) != kValues.end()) return Part::kValue;
  return std::ranges::find(kNamed, key) != kNamed.end() ? Part::kNamed : Part::kSchema;
}

}  // namespace

void drop_null_keywords(JsonTree& tree) {
  const auto size = static_cast<JsonTree::NodeId>(tree.size());
  std::vector<Part> parts(size, Part::kSchema);
  std::vector<bool> has_null(size, false);
  for (JsonTree::NodeId id = JsonTree::kRoot + 1; id < size; ++id) {  // parents stand before their children
    const JsonTree::Node& node = tree.at(id);
    const Part parent = parts[node.parent];
    parts[id] = part_of(parent, node.key);
    if (node.kind != Kind::kNull || !tree.is(node.parent, Kind::kObject)) continue;
    if (parent == Part::kNamed) tree.make_true(id);
    if (parent == Part::kSchema && node.key != "const") has_null[node.parent] = true;
  }
  for (JsonTree::NodeId id = 0; id < size; ++id)
    if (has_null[id])
      tree.remove_members(
          id, [&](JsonTree::NodeId member) { return tree.is(member, Kind::kNull) && tree.at(member).key != "const"; });
}

}  // namespace octavo
