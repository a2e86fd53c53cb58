// Finds the scope of each name of a template, and its slot in the scope.
//
// The rules are those of jinja2's compiler, which a reader may not expect: a name that a scope sets without reading it
// before is that scope's own, even where an input has the same name; branches of an if are no scope; loops, macros and
// blocks are. As in jinja2, an unknown filter is an error at once where it stands outside of conditions.
#pragma once

#include "template/parse/syntax.h"

namespace octavo::jinja {

/// Fills in the scopes and slots of a tree. Throws a Failure for unknown filters and tests.
void resolve_names(Arena& arena, Tree& tree);

}  // namespace octavo::jinja
