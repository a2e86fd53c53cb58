// Short files that describe the system: /proc, /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// The first line of a file. None: there is no such file, or the file is empty.
std::optional<std::string> read_first_line(const std::string& path);

/// The number at the beginning of a text. None: the text begins with no number, as "max" does.
std::optional<std::uint64_t> read_u64(const std::optional<std::string>& text);

/// The number after `name` in a file of lines "name number".
std::optional<std::uint64_t> read_field(const std::string& path, std::string_view name);

}  // namespace octavo
