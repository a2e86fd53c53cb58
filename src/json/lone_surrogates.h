// Halves of characters in JSON. A character beyond 16 bits is written as two escapes, \ud83d\ude00. Programs whose
// strings are UTF-16 cut them anywhere, and then write one half. Browsers and Python read such a text all the same.
//
// Free function without state; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// The JSON with U+FFFD, as in browsers, in the place of each half that stands alone, as an escape or as three bytes.
/// Its length does not change. None: no half stands alone.
std::optional<std::string> without_lone_surrogates(std::string_view json);

}  // namespace octavo
