// A JSON text as a tree that keeps what schemas need: the order of members, numbers as they are written, and the place
// of each value.
//
// Nothing is hashed, so that no choice of keys takes longer than another. Nodes are numbers in the tree. One thread
// makes a tree; any thread may read it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar/compile_work.h"
#include "json/json_limits.h"

namespace octavo {

class JsonTree {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId kRoot = 0;
  static constexpr JsonLimits kLimits{
      .max_bytes = std::size_t{4} << 20, .max_values = std::size_t{1} << 18, .max_depth = 100};

  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  struct Node {
    Kind kind = Kind::kNull;
    NodeId parent = kRoot;
    std::uint32_t index = 0;  // the place among the parent's children
    std::string key = {};     // the name of a member
    std::string text = {};    // the text of a string, or of a number as it is written
    std::vector<NodeId> children = {};
    std::vector<NodeId> by_key = {};  // an object's children in the order of their keys
  };

  /// Parses a text. Errors: no JSON, with the byte; beyond a bound; a key that an object has twice.
  static Result<JsonTree> parse(std::string_view text);

  const Node& at(NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  bool is(NodeId id, Kind kind) const { return nodes_[id].kind == kind; }
  /// A member of an object; none for other nodes.
  std::optional<NodeId> find(NodeId object, std::string_view key) const;
  /// The JSON pointer (RFC 6901) of a node from the root: "#/properties/a".
  std::string pointer(NodeId id) const;
  /// The node that a pointer such as "/properties/a" leads to.
  std::optional<NodeId> follow(NodeId from, std::string_view pointer) const;
  /// Adds a string that stands nowhere in the text.
  NodeId add_string(std::string_view text);
  /// Takes the members that `is_out` out of an object, which is no longer equal to the text's.
  void remove_members(NodeId object, const std::function<bool(NodeId)>& is_out);
  /// Puts true in the place of a value without children.
  void make_true(NodeId id) { nodes_[id].kind = Kind::kTrue; }

  /// Whether two nodes are equal as JSON values, as 1 and 1.0 are, and objects whose members are in another order. Each
  /// pair of nodes that is looked at counts as work.
  bool equal(NodeId a, NodeId b, CompileWork& work) const;

 private:
  friend class JsonTreeBuilder;
  JsonTree() = default;
  bool equal_children(NodeId a, NodeId b, CompileWork& work) const;

  std::deque<Node> nodes_;  // the nodes, which stay where they are
};

}  // namespace octavo
