#include "source/encoder_name.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace octavo {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool is_encoder_name(std::string_view path) {
  const std::string name = lower_case(base_name(path));
  return name.contains("mmproj") && name.ends_with(".gguf");
}

int bits_by_name(std::string_view path) {
  constexpr int kUnknown = 16;
  const std::string_view name = base_name(path);
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
  for (std::size_t i = 1; i < name.size(); ++i) {
    const char before = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i - 1])));
    const bool begins =
        i < 2 || !is_letter(static_cast<unsigned char>(name[i - 2])) || std::string_view("IBib").contains(name[i - 2]);
    int bits = 0;
    if ((before != 'Q' && before != 'F') || !begins || !std::isdigit(static_cast<unsigned char>(name[i]))) continue;
    const auto [end, error] = std::from_chars(name.data() + i, name.data() + name.size(), bits);
    return error == std::errc() ? bits : kUnknown;
  }
  return kUnknown;
}

bool suits_better(std::string_view a, std::string_view b, int bits) {
  return std::pair(std::abs(bits_by_name(a) - bits), base_name(a)) <
         std::pair(std::abs(bits_by_name(b) - bits), base_name(b));
}

}  // namespace octavo
