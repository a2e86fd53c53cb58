// Writes the values that fulfil schemas as expressions of a grammar.
//
//     schemas that must all hold ─ SchemaExpander ─▶ ways of fulfilling them ─ SchemaWriter ─▶ a rule
//
// SchemaStrings writes the strings of a way; SchemaMembers finds the members that its objects may have.
//
// A set of schemas is one rule, made when it is first asked for and written later, so that schemas may refer to
// themselves. One thread uses it; the parts of its constructor must outlive it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "constraint/schema/schema_members.h"
#include "constraint/schema/schema_number.h"
#include "constraint/schema/schema_parts.h"
#include "constraint/schema/schema_strings.h"

namespace octavo {

class SchemaWriter {
 public:
  explicit SchemaWriter(const SchemaParts& parts)
      : parts_(parts), grammar_(parts.json.grammar()), strings_(parts), members_(parts, strings_) {}

  /// Values that fulfil all schemas, by rules that write_all() defines.
  ExpressionId value(SchemaSet schemas);
  void write_all();

 private:
  using NodeId = JsonTree::NodeId;

  /// The elements that may stand at the places of an array.
  struct Elements {
    std::vector<SchemaSet> first = {};
    SchemaSet rest = {};
    std::uint32_t min = 0, max = SchemaFacts::kNoLimit;
  };

  ExpressionId body(const SchemaSet& schemas);
  ExpressionId one_of(const SchemaSet& schemas, const std::vector<NodeId>& values);
  ExpressionId one_of_texts(std::span<const std::string> texts);
  ExpressionId literal(NodeId value);
  ExpressionId literal_number(const std::string& text);
  std::vector<ExpressionId> of_way(const SchemaFacts& way);
  NodeId referred(NodeId schema);
  bool is_other_value(const SchemaFacts& way, JsonTree::Kind kind) const;
  static void bound_digits(NumberRange& range);
  ExpressionId number(const SchemaFacts& way);

  ExpressionId array(const SchemaFacts& way);
  std::optional<Elements> elements_of(const SchemaFacts& way);
  ExpressionId list(const Elements& elements);
  ExpressionId containing(const SchemaFacts& way, const Elements& elements);

  ExpressionId object(const SchemaFacts& way);
  ExpressionId other_member(std::span<const OtherMembers> others);
  ExpressionId named_member(const NamedMember& member);
  ExpressionId in_order(std::span<const NamedMember> members, ExpressionId other);
  ExpressionId counted(const SchemaFacts& way, std::span<const NamedMember> members, ExpressionId other);

  ExpressionId comma() { return grammar_.sequence({grammar_.literal(","), parts_.json.space()}); }

  SchemaParts parts_;
  Grammar& grammar_;
  SchemaStrings strings_;
  SchemaMembers members_;
  std::map<SchemaSet, RuleId> rules_;
  std::vector<SchemaSet> work_;
};

}  // namespace octavo
