#include "source/shard_name.h"

#include <fmt/format.h>

#include <charconv>

namespace octavo {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::size_t kDigits = 5;

/// Takes a number of kDigits digits from the end of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  const std::string_view digits = text.substr(text.size() - kDigits);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text.remove_suffix(kDigits);
  return value;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::optional<ShardName> ShardName::parse(std::string_view file_name, std::string_view suffix, std::uint32_t most) {
  if (!take_suffix(file_name, suffix)) return std::nullopt;
  const auto count = take_number(file_name);
  if (!count || !take_suffix(file_name, kOf)) return std::nullopt;
  const auto number = take_number(file_name);
  if (!number || !take_suffix(file_name, "-")) return std::nullopt;
  if (*number < 1 || *number > *count || *count > most) return std::nullopt;
  return ShardName{.stem = std::string(file_name), .number = *number, .count = *count};
}

std::string ShardName::file_name(std::uint32_t of_number) const {
  return fmt::format("{}-{:05}{}{:05}{}", stem, of_number, kOf, count, kGguf);
}

std::string model_stem(const std::filesystem::path& path) {
  if (auto shard = ShardName::parse(path.filename().string())) return std::move(shard->stem);
  return path.stem().string();
}

}  // namespace octavo
