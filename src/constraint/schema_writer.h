// Writes what schemas take as expressions of a grammar.
//
//     schemas that must all hold ─ SchemaExpander ─▶ ways of fulfilling them ─ SchemaWriter ─▶ a rule
//
// A set of schemas is one rule, made when it is first asked for and written later, so that schemas may refer to
// themselves. Used by one thread; what it is made of must outlive it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/json_grammar.h"
#include "constraint/schema_expander.h"

namespace octavo {

class SchemaWriter {
 public:
  struct Parts {
    JsonTree& tree;
    const SchemaRefs& refs;
    SchemaTexts& texts;
    SchemaValidator& validator;
    SchemaExpander& expander;
    SchemaReport& report;
    JsonGrammar& json;
    bool closes_objects = false;  // OtherNames::kClosed
  };

  explicit SchemaWriter(const Parts& parts) : parts_(parts), grammar_(parts.json.grammar()) {}

  /// Values that fulfil all; their rules are defined by write_all().
  ExpressionId value(SchemaSet schemas);
  void write_all();

 private:
  using NodeId = JsonTree::NodeId;

  /// Elements that may stand at a place of an array.
  struct Elements {
    std::vector<SchemaSet> first = {};
    SchemaSet rest = {};
    std::uint32_t min = 0, max = SchemaFacts::kNoLimit;
  };
  /// A member of an object: its name, and what its value must fulfil.
  struct Member {
    std::string name;
    SchemaSet schemas;
    bool is_required = false;
  };
  /// Names that no member has, and what values they go with. No names: any.
  struct OtherMembers {
    std::optional<CharacterDfa> names;
    SchemaSet schemas;
  };

  ExpressionId body(const SchemaSet& schemas);
  ExpressionId one_of(const SchemaSet& schemas, const std::vector<NodeId>& values);
  ExpressionId one_of_texts(std::span<const std::string> texts);
  ExpressionId literal(NodeId value);
  ExpressionId literal_number(const std::string& text);
  std::vector<ExpressionId> of_way(const SchemaFacts& way);
  NodeId referred(NodeId schema);
  bool is_other_value(const SchemaFacts& way, JsonTree::Kind kind) const;
  ExpressionId number(const SchemaFacts& way);

  // schema_writer_string.cc
  ExpressionId string(const SchemaFacts& way);
  ExpressionId make_string(const SchemaFacts& way, std::span<const std::string> other_texts);
  std::string key_of(const SchemaFacts& way, std::span<const std::string> other_texts) const;
  /// No value: there is no test that the text must pass but its length, or one cannot be held.
  std::optional<CharacterDfa> tested_text(const SchemaFacts& way, std::span<const std::string> other_texts);
  std::optional<ExpressionId> untangled_text(const SchemaFacts& way, std::span<const std::string> other_texts);
  ExpressionId quoted(const CharacterDfa& texts);
  /// Characters of a set in their shortest form.
  CharacterWriter character_writer();

  // schema_writer_array.cc
  ExpressionId array(const SchemaFacts& way);
  std::optional<Elements> elements_of(const SchemaFacts& way);
  ExpressionId list(const Elements& elements);
  ExpressionId containing(const SchemaFacts& way, const Elements& elements);

  // schema_writer_object.cc
  ExpressionId object(const SchemaFacts& way);
  /// No member has a name that the way does not name.
  bool is_closed(const SchemaFacts& way, std::size_t num_members) const;
  std::optional<std::vector<Member>> members_of(const SchemaFacts& way, std::vector<std::string>& names);
  std::vector<OtherMembers> other_members_of(const SchemaFacts& way, std::span<const std::string> names);
  std::optional<CharacterDfa> names_that_fulfil(const SchemaSet& schemas);
  std::vector<OtherMembers> by_patterns(const SchemaFacts& way);
  bool may_be_named(const SchemaFacts& way, const std::string& name);
  ExpressionId other_member(std::span<const OtherMembers> others);
  ExpressionId named_member(const Member& member);
  ExpressionId in_order(std::span<const Member> members, ExpressionId other);
  ExpressionId counted(const SchemaFacts& way, std::span<const Member> members, ExpressionId other);

  bool is_false(const SchemaSet& schemas) const;
  ExpressionId comma() { return grammar_.sequence({grammar_.literal(","), parts_.json.space()}); }

  Parts parts_;
  Grammar& grammar_;
  std::map<SchemaSet, RuleId> rules_;
  std::vector<SchemaSet> work_;
  std::map<std::string, NodeId, std::less<>> name_nodes_;
  std::map<std::string, ExpressionId> strings_;  // by key_of()
};

}  // namespace octavo
