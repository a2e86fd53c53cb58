#include "api/call/text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"

namespace octavo {
namespace {

std::string_view without_suffix(std::string_view file_name) {
  if (file_name.ends_with(".gguf")) file_name.remove_suffix(5);
  return file_name;
}

/// A file's name without the number of a part, "-00001-of-00003".
std::string_view without_part(std::string_view stem) {
  constexpr std::string_view kPattern = "-ddddd-of-ddddd";
  if (stem.size() < kPattern.size()) return stem;
  const std::string_view end = stem.substr(stem.size() - kPattern.size());
  const bool is_part =
      std::ranges::equal(end, kPattern, [](char c, char wanted) { return wanted == 'd' ? is_digit(c) : c == wanted; });
  return is_part ? stem.substr(0, stem.size() - kPattern.size()) : stem;
}

/// Whether a slug says nothing of which model it is.
bool says_nothing(std::string_view slug) {
  if (slug == "model" || slug == "pytorch_model" || slug.starts_with("ggml-model")) return true;
  if (slug.starts_with("sha256-")) slug.remove_prefix(7);
  const bool is_hex = std::ranges::all_of(slug, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  return is_hex && slug.size() >= 32;
}

}  // namespace

std::string slug(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_letter_or_digit(c) || c == '.' || c == '_') {
      out += lower(c);
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "model" : out;
}

std::string model_id(const ModelInfo& info) {
  const std::string of_file = slug(without_part(without_suffix(info.file_name)));
  return says_nothing(of_file) ? slug(info.name) : of_file;
}

std::vector<std::string> model_aliases(const ModelInfo& info, std::string_view id, std::span<const std::string> given) {
  std::vector<std::string> aliases;
  const auto add = [&](std::string_view name) {
    const bool is_known = name.empty() || name == id || std::ranges::find(aliases, name) != aliases.end();
    if (!is_known) aliases.emplace_back(name);
  };
  for (const std::string& name : given) add(to_valid_utf8(name));
  add(without_suffix(info.file_name));
  add(info.file_name);
  return aliases;
}

}  // namespace octavo
