// The characters that may be shown to people as they are. Free functions without state, callable from any thread and
// from a signal handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace octavo {

/// False for a character that steers a terminal, changes the order in which others are read, or hides among them:
/// controls (C0 with line feed and tab, DEL, C1), U+2028 and U+2029, the controls of writing direction, and what has
/// neither width nor a use in writing a language (U+200B, U+2060 to U+206F, U+FEFF, U+FFF9 to U+FFFB, tags). Joiners
/// and variation selectors are true: Indic scripts, Persian and emoji are written with them.
bool is_displayable(std::uint32_t code_point);

/// A step over the beginning of some bytes: a character, or a part of an ill-formed one.
struct DisplayStep {
  std::size_t length;   // the bytes that it covers, at least 1
  bool is_displayable;  // false also for an ill-formed part
  bool is_incomplete;   // the bytes end inside a sequence that may still become a character
};

/// Reads one step from `bytes`, which is not empty.
DisplayStep next_display_step(std::string_view bytes);

}  // namespace octavo
