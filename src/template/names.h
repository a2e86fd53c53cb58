// Finds for each name of a template where its value is: which scope, and which slot of it.
//
// The rules are those of jinja2's compiler, which a reader may not expect: a name that a scope sets without reading it
// before is that scope's own, even where an input has the same name; branches of an if are no scope; loops, macros and
// blocks are. Also decides, like that compiler, where an unknown filter is an error at once (outside of conditions).
#pragma once

#include "template/syntax.h"

namespace octavo::jinja {

/// Fills in the scopes and slots of a tree. Throws a Failure for unknown filters and tests.
void resolve_names(Arena& arena, Tree& tree);

}  // namespace octavo::jinja
