// Keywords of a JSON schema that are null: writers of schemas leave them where a keyword was not given.
//
// A free function; it takes as long as the tree. Any thread.
#pragma once

#include "constraint/schema/json_tree.h"

namespace octavo {

/// Takes keywords that are null out of each schema of the tree, but for `const`; a named schema that is null, as a
/// property's, takes any value. The root, and what stands within `const`, `enum`, `default` and `examples`, stay.
void drop_null_keywords(JsonTree& tree);

}  // namespace octavo
