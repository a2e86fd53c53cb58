#include "json/json_file.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "json/json_text.h"

namespace octavo {
namespace {

constexpr double kLargestSize = 0x1p53;  // the integers up to here are exact as doubles

}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t most) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) return fail("{}: {}", path.string(), error.message());
  if (size > most) return fail("{}: has {} bytes, expected at most {}", path.string(), size, most);
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) return fail("{}: cannot be read", path.string());
  return text;
}

namespace {

constexpr std::string_view kInfinity = "Infinity";

/// Python writes infinite numbers as a word that is no JSON. Outside of texts it becomes null, which is no number.
std::string without_infinities(std::string text) {
  constexpr std::string_view kNull = "null    ";
  static_assert(kNull.size() == kInfinity.size());
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text.compare(i, kInfinity.size(), kInfinity) == 0) {
      text.replace(i, kNull.size(), kNull);
      if (i > 0 && text[i - 1] == '-') text[i - 1] = ' ';
    }
  }
  return text;
}

}  // namespace

Result<TemplateValue> read_json_object(std::string_view text, const std::filesystem::path& path, std::size_t most) {
  std::size_t left = most;
  auto value = read_json_object(text, left);
  if (!value && text.contains(kInfinity)) value = read_json_object(without_infinities(std::string(text)), most);
  if (!value) return fail("{}: {}", path.string(), value.error().message);
  return std::move(*value);
}

Result<TemplateValue> read_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  OCTAVO_TRY(const std::string text, read_text_file(path, limits.max_bytes));
  return read_json_object(text, path, limits.max_values);
}

std::string describe_json(const TemplateValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string&) const { return "a text"; }
    std::string operator()(const TemplateList& list) const { return fmt::format("a list of {}", list.size()); }
    std::string operator()(const TemplateDict&) const { return "an object"; }
  };
  return std::visit(Visitor{}, static_cast<const std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                                              TemplateList, TemplateDict>&>(value));
}

Result<JsonObject> JsonObject::of(const TemplateValue& value, std::string_view file, std::string path) {
  const auto* members = std::get_if<TemplateDict>(&value);
  if (members == nullptr) return fail("{}: {}found {}, expected an object", file, path, describe_json(value));
  return JsonObject(*members, file, std::move(path));
}

const TemplateValue* JsonObject::find(std::string_view name) const {
  for (auto member = members_->rbegin(); member != members_->rend(); ++member)
    if (member->first == name)
      return std::holds_alternative<std::monostate>(member->second) ? nullptr : &member->second;
  return nullptr;
}

std::string JsonObject::place(std::string_view name) const { return fmt::format("{}: {}{}", file_, path_, name); }

Result<std::optional<double>> JsonObject::number_if(std::string_view name) const {
  const TemplateValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(value);
  if (number == nullptr || !std::isfinite(*number))
    return fail("{} is {}, expected a number", place(name), describe_json(*value));
  return *number;
}

const TemplateList* JsonObject::find_list(std::string_view name) const {
  const TemplateValue* value = find(name);
  return value == nullptr ? nullptr : std::get_if<TemplateList>(value);
}

Result<std::optional<std::uint64_t>> JsonObject::size_if(std::string_view name) const {
  OCTAVO_TRY(const std::optional<double> number, number_if(name));
  if (!number) return std::nullopt;
  if (*number < 0 || *number > kLargestSize || *number != std::floor(*number))
    return fail("{} is {}, expected a whole number from 0", place(name), *number);
  return static_cast<std::uint64_t>(*number);
}

Result<double> JsonObject::number(std::string_view name) const {
  OCTAVO_TRY(const std::optional<double> number, number_if(name));
  if (!number) return fail("{} is missing", place(name));
  return *number;
}

Result<std::uint64_t> JsonObject::size(std::string_view name) const {
  OCTAVO_TRY(const std::optional<std::uint64_t> size, size_if(name));
  if (!size) return fail("{} is missing", place(name));
  return *size;
}

Result<std::string_view> JsonObject::text(std::string_view name) const {
  const TemplateValue* value = find(name);
  if (value == nullptr) return fail("{} is missing", place(name));
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) return fail("{} is {}, expected a text", place(name), describe_json(*value));
  return std::string_view(*text);
}

Result<bool> JsonObject::flag_or(std::string_view name, bool otherwise) const {
  const TemplateValue* value = find(name);
  if (value == nullptr) return otherwise;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) return fail("{} is {}, expected true or false", place(name), describe_json(*value));
  return *flag;
}

Result<std::optional<JsonObject>> JsonObject::object_if(std::string_view name) const {
  const TemplateValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto* members = std::get_if<TemplateDict>(value);
  if (members == nullptr) return fail("{} is {}, expected an object", place(name), describe_json(*value));
  return JsonObject(*members, file_, fmt::format("{}{}.", path_, name));
}

}  // namespace octavo
