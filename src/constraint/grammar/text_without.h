// Texts that hold none of some marks.
//
// A free function; any thread.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "constraint/grammar/grammar.h"

namespace octavo {

/// Any text without the marks; it may end with the beginning of one. Errors: no mark; a mark of less than two
/// characters or more than 4096 bytes, or no UTF-8; marks that do not begin with one and the same character, or have it
/// a second time.
Result<ExpressionId> text_without(std::span<const std::string> marks, Grammar& grammar);

}  // namespace octavo
