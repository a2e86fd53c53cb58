#include "constraint/schema/schema_facts.h"

#include <algorithm>

namespace octavo {

ElementSchemas::ElementSchemas(const JsonTree& tree, JsonTree::NodeId schema) {
  auto first = tree.find(schema, "prefixItems");
  rest_ = tree.find(schema, "items");
  if (!first && rest_ && tree.is(*rest_, JsonTree::Kind::kArray)) {
    first = rest_;
    rest_ = tree.find(schema, "additionalItems");
  }
  if (first) first_ = tree.at(*first).children;
}

void make_set(SchemaSet& schemas) {
  std::ranges::sort(schemas);
  const auto rest = std::ranges::unique(schemas);
  schemas.erase(rest.begin(), rest.end());
}

bool is_false(const JsonTree& tree, const SchemaSet& schemas) {
  return std::ranges::any_of(schemas, [&](SchemaTerm term) {
    return tree.is(term.node, term.is_negated ? JsonTree::Kind::kTrue : JsonTree::Kind::kFalse);
  });
}

NumberKind both(NumberKind a, NumberKind b) {
  if (a == b || b == NumberKind::kAny) return a;
  return a == NumberKind::kAny ? b : NumberKind::kNone;
}

}  // namespace octavo
