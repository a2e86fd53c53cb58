// Backslashes in the string literals of a template, as Python reads them.
#pragma once

#include "template/values/arena.h"
#include "template/values/failure.h"

namespace octavo::jinja {

/// The value of a literal, from the text between its quotes. Broken escapes fail, and so do \N{...} and surrogates,
/// which are no text.
std::string_view read_escapes(Arena& arena, std::string_view literal, Position where);

}  // namespace octavo::jinja
