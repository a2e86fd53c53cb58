// One way of fulfilling schemas that must all hold, as facts about each type of value. Alternatives, as of `anyOf`,
// make several ways.
//
// Plain values; any thread. Names are texts of the tree, which must outlive them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "constraint/grammar/grammar.h"
#include "constraint/schema/decimal.h"
#include "constraint/schema/json_tree.h"
#include "constraint/schema/name_list.h"

namespace octavo {

/// A schema of the tree that must hold, or must not.
struct SchemaTerm {
  JsonTree::NodeId node = 0;
  bool is_negated = false;
  auto operator<=>(const SchemaTerm&) const = default;
};

/// Schemas that must all hold: ascending, each once. None: any value.
using SchemaSet = std::vector<SchemaTerm>;
/// Sorts schemas and drops repeated ones.
void make_set(SchemaSet& schemas);
/// Whether one of them is a schema that no value fulfils: false, or not true.
bool is_false(const JsonTree& tree, const SchemaSet& schemas);

using TypeMask = std::uint8_t;
inline constexpr TypeMask kNullType = 1, kBooleanType = 2, kNumberType = 4, kStringType = 8, kArrayType = 16,
                          kObjectType = 32, kAllTypes = 63;

enum class NumberKind : std::uint8_t { kAny, kInteger, kFraction, kNone };  // kFraction: all but integers

struct NumberBound {
  Decimal value;
  bool is_exclusive = false;
};

/// A keyword whose text a string must, or must not, match: `pattern` or `format`.
struct TextTest {
  JsonTree::NodeId keyword = 0;
  bool is_format = false;
  bool is_negated = false;
};

/// A schema that a member must fulfil if the object has the member.
struct MemberTest {
  std::string_view name;
  SchemaTerm schema;
};

/// A test of which an array must have elements: `contains`.
struct ContainedTest {
  SchemaTerm schema;
  std::uint32_t min = 1;
  bool has_max = false;
  JsonTree::NodeId keyword = 0;
};

struct SchemaFacts {
  static constexpr std::uint32_t kNoLimit = Grammar::kAnyNumber;
  static constexpr std::size_t kMaxRequired = 2048;

  TypeMask types = kAllTypes;
  std::optional<std::vector<JsonTree::NodeId>> values;  // the value is one of these: `enum`, `const`
  std::vector<JsonTree::NodeId> other_values;           // the value is none of these

  NumberKind number_kind = NumberKind::kAny;
  std::optional<NumberBound> minimum, maximum;
  std::vector<JsonTree::NodeId> divisors;  // `multipleOf`

  std::uint32_t min_length = 0, max_length = kNoLimit;
  std::vector<TextTest> text_tests;

  std::vector<JsonTree::NodeId> array_layers;  // schemas whose `items` and `prefixItems` say what the elements are
  std::uint32_t min_items = 0, max_items = kNoLimit;
  std::vector<ContainedTest> contained;
  std::optional<JsonTree::NodeId> unique_keyword;  // the keyword `uniqueItems`, where it is true

  std::vector<JsonTree::NodeId> object_layers;  // schemas whose `properties` and the like tell of members
  NameList required, forbidden;
  std::vector<MemberTest> member_tests;
  std::vector<SchemaTerm> name_schemas;  // `propertyNames`
  std::uint32_t min_properties = 0, max_properties = kNoLimit;
  bool has_unevaluated = false;  // `unevaluatedProperties` restricts members that no schema names

  bool has(TypeMask type) const { return (types & type) != 0; }
};

/// Several ways, any one of which may be taken.
using SchemaWays = std::vector<SchemaFacts>;

/// The schemas that `prefixItems` and `items` of one schema have for an array's elements; in drafts before 2020,
/// `items` and `additionalItems`.
class ElementSchemas {
 public:
  ElementSchemas(const JsonTree& tree, JsonTree::NodeId schema);
  /// The schema of an element; none: any value may stand there.
  std::optional<JsonTree::NodeId> at(std::size_t index) const {
    return index < first_.size() ? std::optional(first_[index]) : rest_;
  }
  std::size_t num_first() const { return first_.size(); }
  std::optional<JsonTree::NodeId> rest() const { return rest_; }

 private:
  std::vector<JsonTree::NodeId> first_;
  std::optional<JsonTree::NodeId> rest_;
};

/// The common kind of two kinds of numbers; kNone: no number is of both.
NumberKind both(NumberKind a, NumberKind b);

}  // namespace octavo
