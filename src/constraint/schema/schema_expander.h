// Takes schemas apart into the ways of fulfilling them: schemas in `allOf` and behind references are joined, the
// alternatives of `anyOf`, `oneOf` and conditions become several ways, and `not` is brought down to the keywords that
// can be turned round.
//
// One thread uses it; the parts of its constructor must outlive it.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "constraint/schema/json_tree.h"
#include "constraint/schema/schema_facts.h"
#include "constraint/schema/schema_refs.h"
#include "constraint/schema/schema_report.h"
#include "constraint/schema/schema_texts.h"
#include "constraint/schema/schema_validator.h"

namespace octavo {

class SchemaExpander {
 public:
  static constexpr std::size_t kMaxWays = 512;       // for one value
  static constexpr std::size_t kMaxParts = 1 << 16;  // for all ways of one value: names, values and layers
  static constexpr int kMaxComparedDepth = 3;        // levels of members that are compared
  static constexpr std::size_t kMaxOpen = 64;        // schemas within each other for the same value

  SchemaExpander(const JsonTree& tree, const SchemaRefs& refs, SchemaTexts& texts, SchemaReport& report)
      : tree_(tree), refs_(refs), texts_(texts), report_(report) {}

  /// The ways of fulfilling all schemas; none: no value fulfils them. They have no meaning where report.failed().
  SchemaWays expand(const SchemaSet& schemas);
  /// The schemas of a member's value wherever an object fulfils the facts.
  SchemaSet schemas_of_member(const SchemaFacts& facts, std::string_view name);
  /// The schemas of many members of one way.
  class MemberSchemas {
   public:
    MemberSchemas(SchemaExpander& expander, const SchemaFacts& facts);
    SchemaSet of(std::string_view name);

   private:
    SchemaExpander& expander_;
    std::map<std::string_view, SchemaSet> named_;     // the members of layers without other members, and of tests
    std::vector<JsonTree::NodeId> open_layers_ = {};  // layers that speak of other members as well
  };

 private:
  using NodeId = JsonTree::NodeId;
  using Kind = JsonTree::Kind;

  // Each function narrows the ways to those that fulfil one more demand.
  SchemaWays with(SchemaTerm term, SchemaWays ways);
  SchemaWays with_schema(NodeId schema, SchemaWays ways);
  SchemaWays with_keyword(NodeId schema, NodeId keyword, SchemaWays ways);
  SchemaWays with_reference(NodeId schema, NodeId keyword, bool is_negated, SchemaWays ways);
  SchemaWays with_any(NodeId keyword, bool is_negated, const SchemaWays& ways);
  SchemaWays with_all(NodeId keyword, bool is_negated, SchemaWays ways);
  SchemaWays with_one(NodeId keyword, const SchemaWays& ways);
  SchemaWays with_condition(NodeId schema, NodeId keyword, const SchemaWays& ways);
  SchemaWays with_negation(NodeId keyword, SchemaWays ways);
  SchemaWays with_dependencies(NodeId keyword, SchemaWays ways);

  // Each function gives ways in which a keyword of the schema does not hold.
  SchemaWays without_schema(NodeId schema, const SchemaWays& ways);
  /// Ways in which the keyword does not hold. No value: the keyword cannot be turned round.
  std::optional<SchemaWays> without_keyword(NodeId schema, NodeId keyword, const SchemaWays& ways);
  SchemaWays without_members(NodeId keyword, const SchemaWays& ways);
  std::optional<SchemaWays> without_other_members(NodeId schema, NodeId keyword, const SchemaWays& ways);

  /// Whether no value fulfils both.
  bool are_disjoint(const SchemaWays& a, const SchemaWays& b);
  bool are_disjoint(const SchemaFacts& a, const SchemaFacts& b);
  bool may_hold(const SchemaFacts& facts, NodeId value);
  bool have_disjoint_texts(const SchemaFacts& a, const SchemaFacts& b);
  bool have_disjoint_members(const SchemaFacts& a, const SchemaFacts& b);
  bool is_bounded(NodeId at, const SchemaWays& ways);
  /// A copy that is narrowed beside others, whose making counts as work.
  SchemaWays copy_of(const SchemaWays& ways) const;
  /// Adds the schemas that a layer has for a member.
  void add_schemas(NodeId layer, std::string_view name, SchemaSet& schemas);

  const JsonTree& tree_;
  const SchemaRefs& refs_;
  SchemaTexts& texts_;
  SchemaReport& report_;
  std::vector<SchemaTerm> open_;  // the schemas that are being joined, each within the one before
  int compared_depth_ = 0;
};

/// Narrows the facts by a keyword that leaves no alternatives, and reports malformed values. False: the keyword is
/// another one.
bool hold_keyword(const JsonTree& tree, JsonTree::NodeId schema, JsonTree::NodeId keyword, SchemaReport& report,
                  SchemaFacts& facts);
/// Narrows the facts to values that break a keyword of one type of values. False: the keyword is another one.
bool fail_keyword(const JsonTree& tree, JsonTree::NodeId schema, JsonTree::NodeId keyword, SchemaReport& report,
                  SchemaFacts& facts);
/// Whether no value fulfils the facts.
bool is_contradiction(const SchemaFacts& facts);

}  // namespace octavo
