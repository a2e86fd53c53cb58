// Backslashes in the string literals of a template, as Python reads them.
#pragma once

#include "template/arena.h"
#include "template/failure.h"

namespace octavo::jinja {

/// The value of a literal from what stands between its quotes. Fails where an escape is broken, and for \N{...} and
/// surrogates, which are no text.
std::string_view read_escapes(Arena& arena, std::string_view literal, Position where);

}  // namespace octavo::jinja
