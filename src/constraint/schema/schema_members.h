// Finds the members that objects which fulfil a way may have: those that its schemas name, in their order, and what
// else may stand beside them.
//
// One thread uses it; the parts of its constructor must outlive it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "constraint/schema/schema_parts.h"
#include "constraint/schema/schema_strings.h"

namespace octavo {

/// A member that a schema names, and the schemas of its value.
struct NamedMember {
  std::string name;
  SchemaSet schemas;
  bool is_required = false;
};

/// Names that no schema names (none: any names), and the schemas of their values.
struct OtherMembers {
  std::optional<CharacterDfa> names;
  SchemaSet schemas;
};

struct ObjectMembers {
  std::vector<NamedMember> named;
  std::vector<OtherMembers> others = {};  // none: the object is closed
};

class SchemaMembers {
 public:
  SchemaMembers(const SchemaParts& parts, SchemaStrings& strings) : parts_(parts), strings_(strings) {}

  /// The members of a way's objects. No value: a required member cannot be there.
  std::optional<ObjectMembers> find(const SchemaFacts& way);

 private:
  using NodeId = JsonTree::NodeId;

  std::vector<std::string> names_of(const SchemaFacts& way) const;
  std::optional<std::vector<NamedMember>> named_members(const SchemaFacts& way, std::span<const std::string> names);
  bool may_be_named(const SchemaFacts& way, const std::string& name);
  /// Whether no member has a name that the way does not name.
  bool is_closed(const SchemaFacts& way, std::size_t num_members) const;
  std::vector<OtherMembers> other_members(const SchemaFacts& way, std::span<const std::string> names);
  std::optional<CharacterDfa> names_that_fulfil(const SchemaSet& schemas);
  std::vector<OtherMembers> by_patterns(const SchemaFacts& way);

  SchemaParts parts_;
  SchemaStrings& strings_;
  std::map<std::string, NodeId, std::less<>> name_nodes_;
};

}  // namespace octavo
