// Tells whether a value of the schema's own text fulfils a schema: the values of `enum` and `const`, and the names of
// members.
//
// One thread uses it; the parts of its constructor must outlive it.
#pragma once

#include <cstdint>
#include <string_view>

#include "constraint/schema/json_tree.h"
#include "constraint/schema/schema_facts.h"
#include "constraint/schema/schema_refs.h"
#include "constraint/schema/schema_texts.h"

namespace octavo {

enum class Verdict : std::uint8_t { kNo, kUnknown, kYes };

class SchemaValidator {
 public:
  static constexpr int kMaxDepth = 200;             // levels of schemas and of values within each other
  static constexpr std::size_t kMaxWork = 1 << 20;  // schemas that meet values; beyond it nothing is known

  SchemaValidator(const JsonTree& tree, const SchemaRefs& refs, SchemaTexts& texts, CompileWork& work)
      : tree_(tree), refs_(refs), texts_(texts), compile_work_(work) {}

  Verdict holds(const SchemaSet& schemas, JsonTree::NodeId value);
  Verdict holds(SchemaTerm schema, JsonTree::NodeId value);

 private:
  using NodeId = JsonTree::NodeId;
  using Kind = JsonTree::Kind;

  Verdict schema(NodeId schema, NodeId value);
  Verdict keyword(NodeId schema, NodeId keyword, NodeId value);
  Verdict reference(NodeId schema, NodeId keyword, NodeId value);
  Verdict combination(std::string_view name, NodeId keyword, NodeId value);
  Verdict condition(NodeId schema, NodeId value);
  Verdict of_number(NodeId schema, std::string_view name, NodeId keyword, NodeId value) const;
  Verdict of_string(std::string_view name, NodeId keyword, NodeId value);
  Verdict of_array(NodeId schema, std::string_view name, NodeId keyword, NodeId value);
  Verdict elements(NodeId schema, NodeId value);
  Verdict contained(NodeId schema, NodeId keyword, NodeId value);
  Verdict unique(NodeId value);
  Verdict of_object(std::string_view name, NodeId keyword, NodeId value);
  Verdict members(NodeId schema, NodeId value);
  Verdict member(NodeId schema, NodeId member);
  Verdict dependent(NodeId keyword, NodeId value);

  const JsonTree& tree_;
  const SchemaRefs& refs_;
  SchemaTexts& texts_;
  CompileWork& compile_work_;
  int depth_ = 0;
  std::size_t work_ = 0;
};

/// Whether the value is of the type that "type" names.
bool is_of_type(const JsonTree& tree, JsonTree::NodeId value, std::string_view type);
/// The whole number that a keyword has, cut to 32 bits; no value: the keyword has another value.
std::optional<std::uint32_t> count_of(const JsonTree& tree, JsonTree::NodeId keyword);

}  // namespace octavo
