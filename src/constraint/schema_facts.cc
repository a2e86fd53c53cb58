#include "constraint/schema_facts.h"

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

NumberKind both(NumberKind a, NumberKind b) {
  if (a == b || b == NumberKind::kAny) return a;
  return a == NumberKind::kAny ? b : NumberKind::kNone;
}

}  // namespace octavo
