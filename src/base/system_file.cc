#include "base/system_file.h"

#include <fstream>
#include <sstream>

namespace octavo {

std::optional<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> read_u64(const std::optional<std::string>& text) {
  if (text && text->starts_with('-')) return std::nullopt;  // a stream would turn it into a large number
  std::istringstream in(text.value_or(""));
  std::uint64_t value = 0;
  return (in >> value) ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> read_field(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return read_u64(line.substr(name.size()));
  return std::nullopt;
}

}  // namespace octavo
