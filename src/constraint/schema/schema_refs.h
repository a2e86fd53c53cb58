// The targets of the references of a schema: "$ref" to "$id", "$anchor" and JSON pointers within the one text.
//
// Immutable; any thread. The tree must outlive it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "constraint/schema/json_tree.h"

namespace octavo {

class SchemaRefs {
 public:
  SchemaRefs(const JsonTree& tree, CompileWork& work);

  /// The schema that a reference's text means within the schema object `from`. No value: the text has no such schema.
  std::optional<JsonTree::NodeId> resolve(JsonTree::NodeId from, std::string_view reference) const;
  /// The schema that a "$dynamicRef" means. No value also where it depends on the way to the schema: another schema of
  /// the text has the same "$dynamicAnchor".
  std::optional<JsonTree::NodeId> resolve_dynamic(JsonTree::NodeId from, std::string_view reference) const;

 private:
  /// The schema with the "$id" to which a node's references are relative.
  JsonTree::NodeId resource_of(JsonTree::NodeId node) const;
  std::optional<JsonTree::NodeId> find_fragment(JsonTree::NodeId resource, std::string_view fragment) const;
  void add_names(JsonTree::NodeId node);

  const JsonTree& tree_;
  CompileWork& work_;
  std::map<JsonTree::NodeId, std::string> uris_;                                  // the URIs of resources
  std::map<std::string, JsonTree::NodeId, std::less<>> resources_;                // the nodes of URIs
  std::map<std::pair<JsonTree::NodeId, std::string>, JsonTree::NodeId> anchors_;  // the nodes of a resource and a name
  std::map<std::string, int, std::less<>> num_dynamic_;                           // dynamic anchors by name
};

/// The URI that `reference` means at `base` (RFC 3986, section 5.2), both without fragment.
std::string resolved_uri(std::string_view base, std::string_view reference);

}  // namespace octavo
