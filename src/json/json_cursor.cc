#include "json/json_cursor.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>
#include <utility>

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxShownBytes = 60;
constexpr double kLargestExact = 9007199254740992.0;  // 2^53: up to here a double names one integer

/// At most kMaxShownBytes of `text`, cut between characters.
std::string shorten(std::string_view text) {
  if (text.size() <= kMaxShownBytes) return std::string(text);
  std::size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

void append_name(std::string& path, std::string_view name) {
  if (!path.empty()) path += '.';
  path += name;
}

/// Adds to `path` the way from one value down to the object or array that is at `target`. False: it is not in there.
/// The depth of a JSON text is bounded where it is parsed.
bool find_way(const json::value& from, const void* target, std::string& path);

bool find_way(const json::object& from, const void* target, std::string& path) {
  if (&from == target) return true;
  const std::size_t length = path.size();
  for (const json::key_value_pair& member : from) {
    if (!member.value().is_structured()) continue;
    append_name(path, member.key());
    if (find_way(member.value(), target, path)) return true;
    path.resize(length);
  }
  return false;
}

bool find_way(const json::array& from, const void* target, std::string& path) {
  if (&from == target) return true;
  const std::size_t length = path.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!from[i].is_structured()) continue;
    path += fmt::format("[{}]", i);
    if (find_way(from[i], target, path)) return true;
    path.resize(length);
  }
  return false;
}

bool find_way(const json::value& from, const void* target, std::string& path) {
  if (const json::object* object = from.if_object()) return find_way(*object, target, path);
  return find_way(from.get_array(), target, path);
}

}  // namespace

std::string describe_json(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64:
    case json::kind::uint64: return "the number " + json::serialize(value);
    case json::kind::double_: return fmt::format("the number {}", value.get_double());
    case json::kind::string: return "the string " + json::serialize(json::value(shorten(value.get_string())));
    case json::kind::array: return fmt::format("an array of {}", value.get_array().size());
    case json::kind::object: return "an object";
  }
  return "a value";
}

std::optional<std::int64_t> as_integer(const json::value& value) {
  if (const std::int64_t* integer = value.if_int64()) return *integer;
  if (const double* number = value.if_double()) {
    if (std::abs(*number) <= kLargestExact && std::trunc(*number) == *number) return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;  // also of what int64 cannot hold
}

JsonCursor JsonCursor::operator[](std::string_view name) const {
  const json::object* object = !has_moved_ ? root_ : value_ != nullptr ? value_->if_object() : nullptr;
  if (object == nullptr || astray_ != Astray::kNo) return astray(Astray::kNoObject);
  const json::value* value = object->if_contains(name);
  JsonCursor next = *this;
  next.value_ = value == nullptr || value->is_null() ? nullptr : value;
  next.container_ = object;
  next.name_ = name;
  next.is_element_ = false;
  next.has_moved_ = true;
  return next;
}

JsonCursor JsonCursor::operator[](std::size_t index) const {
  const json::array* array = value_ != nullptr ? value_->if_array() : nullptr;
  if (array == nullptr || astray_ != Astray::kNo) return astray(Astray::kNoArray);
  JsonCursor next = *this;
  next.value_ = array->if_contains(index);
  next.container_ = array;
  next.index_ = index;
  next.is_element_ = true;
  return next;
}

JsonCursor JsonCursor::astray(Astray how) const {
  JsonCursor next = *this;
  if (astray_ == Astray::kNo) next.astray_ = how;
  return next;
}

std::string JsonCursor::path() const {
  std::string path(root_path_);
  if (!has_moved_) return path;
  find_way(*root_, container_, path);
  if (is_element_) return path + fmt::format("[{}]", index_);
  append_name(path, name_);
  return path;
}

JsonError JsonCursor::error(std::string_view message, std::string_view code) const {
  std::string path = this->path();
  std::string text = path.empty() ? std::string(message) : fmt::format("{}: {}", path, message);
  return {.path = std::move(path), .message = std::move(text), .code = code};
}

JsonError JsonCursor::wrong_type(std::string_view expected) const {
  const std::string found = value_ != nullptr ? describe_json(*value_) : "none";
  return error(fmt::format("found {}, expected {}", found, expected), "invalid_type");
}

JsonError JsonCursor::wrong_value(std::string_view expected, std::string_view code) const {
  JsonError wrong = wrong_type(expected);
  wrong.code = code;
  return wrong;
}

JsonError JsonCursor::wrong_number(std::string_view expected) const {
  return value_->is_number() ? wrong_value(expected) : wrong_type(expected);
}

template <class T, class Take>
JsonCursor::Read<T> JsonCursor::read(const Take& take) const {
  if (is_missing()) return std::nullopt;
  if (astray_ != Astray::kNo) return std::unexpected(wrong_type(wanted()));
  return take(*value_);
}

JsonCursor::Read<bool> JsonCursor::boolean() const {
  return read<bool>([this](const json::value& value) -> Read<bool> {
    if (const bool* given = value.if_bool()) return *given;
    return std::unexpected(wrong_type("true or false"));
  });
}

JsonCursor::Read<std::int64_t> JsonCursor::integer(std::int64_t min, std::int64_t max) const {
  return read<std::int64_t>([this, min, max](const json::value& value) -> Read<std::int64_t> {
    const std::optional<std::int64_t> given = as_integer(value);
    if (given && *given >= min && *given <= max) return given;
    return std::unexpected(wrong_number(max == std::numeric_limits<std::int64_t>::max()
                                            ? fmt::format("an integer of at least {}", min)
                                            : fmt::format("an integer from {} to {}", min, max)));
  });
}

JsonCursor::Read<std::int64_t> JsonCursor::integer_from(std::int64_t min) const {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const double* number = value() == nullptr ? nullptr : value_->if_double();
  const bool is_beyond = value() != nullptr && (value_->is_uint64() || (number != nullptr && *number > kLargestExact));
  return is_beyond ? Read<std::int64_t>(kMax) : integer(min, kMax);
}

template <class Number>
JsonCursor::Read<Number> JsonCursor::read_number(Number min, Number max) const {
  return read<Number>([this, min, max](const json::value& value) -> Read<Number> {
    if (value.is_number()) {
      const auto given = static_cast<Number>(value.to_number<double>());
      if (given >= min && given <= max) return given;
    }
    return std::unexpected(wrong_number(fmt::format("a number from {} to {}", min, max)));
  });
}

JsonCursor::Read<double> JsonCursor::number(double min, double max) const { return read_number(min, max); }
JsonCursor::Read<float> JsonCursor::number(float min, float max) const { return read_number(min, max); }

JsonCursor::Read<std::string_view> JsonCursor::string() const {
  return read<std::string_view>([this](const json::value& value) -> Read<std::string_view> {
    if (const json::string* given = value.if_string()) return std::string_view(*given);
    return std::unexpected(wrong_type("a string"));
  });
}

JsonResult<std::string_view> JsonCursor::needed_string(std::string_view expected) const {
  auto given = string();
  if (!given) return std::unexpected(std::move(given.error()));
  if (*given) return **given;
  if (astray_ != Astray::kNo) return std::unexpected(wrong_value(wanted()));
  return std::unexpected(value_ != nullptr ? wrong_type(expected) : wrong_value(expected));
}

JsonResult<const json::object*> JsonCursor::object(std::string_view expected) const {
  if (!has_moved_) return root_;
  if (is_missing()) return nullptr;
  if (astray_ != Astray::kNo) return std::unexpected(wrong_type(wanted()));
  if (const json::object* given = value_->if_object()) return given;
  return std::unexpected(wrong_type(expected));
}

JsonResult<const json::object*> JsonCursor::needed_object(std::string_view expected) const {
  auto given = object(expected);
  if (given && *given == nullptr)
    return std::unexpected(value_ != nullptr ? wrong_type(expected) : wrong_value(expected));
  return given;
}

JsonResult<const json::array*> JsonCursor::array(std::string_view expected) const {
  if (is_missing()) return nullptr;
  if (astray_ != Astray::kNo) return std::unexpected(wrong_type(wanted()));
  if (const json::array* given = value_->if_array()) return given;
  return std::unexpected(wrong_type(expected));
}

}  // namespace octavo
