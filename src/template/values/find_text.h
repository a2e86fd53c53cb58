// A search in linear time; that of std::string_view may take the product of both lengths.
#pragma once

#include <cstring>
#include <string_view>

#include "base/to_size.h"

namespace octavo::jinja {

/// The first place of the text from `from` on, which is in the text or at its end; npos: there is no such place.
inline std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from) {
  if (wanted.empty()) return from;
  if (wanted.size() > text.size() - from) return std::string_view::npos;  // memmem must not see a text of no bytes
  const void* found = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found == nullptr ? std::string_view::npos : to_size(static_cast<const char*>(found) - text.data());
}

}  // namespace octavo::jinja
