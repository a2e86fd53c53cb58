#include "json/json_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kBehindFile = ": ";
constexpr std::size_t kMaxShownBytes = 60;
constexpr double kLargestExact = 9007199254740992.0;  // 2^53: up to here a double names one integer

/// The first kMaxShownBytes of `text` at most, cut between characters.
std::string shorten(std::string_view text) {
  if (text.size() <= kMaxShownBytes) return std::string(text);
  std::size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
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
  return std::nullopt;  // an integer beyond int64 is none either
}

JsonCursor& JsonCursor::operator=(const JsonCursor& other) {
  if (this == &other) return *this;
  root_ = other.root_;
  root_path_ = other.root_path_;
  value_ = other.value_;
  astray_ = other.astray_;
  num_steps_ = other.num_steps_;
  std::copy_n(other.steps_.begin(), num_steps_, steps_.begin());
  return *this;
}

JsonCursor::JsonCursor(const JsonCursor& from, Step step, const json::value* value)
    : root_(from.root_), root_path_(from.root_path_), value_(value), num_steps_(from.num_steps_ + 1) {
  OCTAVO_CHECK(num_steps_ <= kMaxDepth, "found a place deeper than {} in JSON", kMaxDepth);
  std::copy_n(from.steps_.begin(), from.num_steps_, steps_.begin());
  steps_[num_steps_ - 1U] = step;
}

JsonCursor JsonCursor::operator[](std::string_view name) const {
  const json::object* object = num_steps_ == 0 ? root_ : value_ != nullptr ? value_->if_object() : nullptr;
  if (object == nullptr || astray_ != Astray::kNo) return astray(Astray::kNoObject);
  const json::value* value = object->if_contains(name);
  return JsonCursor(*this, {.name = name.data(), .number = name.size()},
                    value == nullptr || value->is_null() ? nullptr : value);
}

JsonCursor JsonCursor::operator[](std::size_t index) const {
  const json::array* array = value_ != nullptr ? value_->if_array() : nullptr;
  if (array == nullptr || astray_ != Astray::kNo) return astray(Astray::kNoArray);
  return JsonCursor(*this, {.name = nullptr, .number = index}, array->if_contains(index));
}

JsonCursor JsonCursor::astray(Astray how) const {
  JsonCursor next = *this;
  if (astray_ == Astray::kNo) next.astray_ = how;
  return next;
}

std::string JsonCursor::path() const {
  std::string path(root_path_);
  for (const Step& step : std::span(steps_).first(num_steps_)) {
    if (step.name == nullptr) {
      path += fmt::format("[{}]", step.number);
    } else {
      if (!path.empty() && !path.ends_with(kBehindFile)) path += '.';
      path.append(step.name, step.number);
    }
  }
  return path;
}

JsonError JsonCursor::error(std::string_view message, std::string_view code) const {
  std::string path = this->path();
  const std::string_view between = path.empty() || path.ends_with(kBehindFile) ? "" : kBehindFile;
  std::string text = fmt::format("{}{}{}", path, between, message);
  return {.path = std::move(path), .message = std::move(text), .code = code};
}

JsonError JsonCursor::wrong(std::string_view found, std::string_view expected) const {
  return error(fmt::format("found {}, expected {}", found, expected));
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

JsonResult<bool> JsonCursor::boolean_or(bool otherwise) const {
  OCTAVO_TRY(const auto given, boolean());
  return given.value_or(otherwise);
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

JsonResult<std::int64_t> JsonCursor::needed_integer(std::int64_t min, std::int64_t max) const {
  OCTAVO_TRY(const auto given, integer(min, max));
  if (!given) return std::unexpected(wrong_value(fmt::format("an integer from {} to {}", min, max)));
  return *given;
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

JsonResult<std::string_view> JsonCursor::string_or(std::string_view otherwise) const {
  OCTAVO_TRY(const auto given, string());
  return given.value_or(otherwise);
}

JsonResult<std::string_view> JsonCursor::needed_string(std::string_view expected) const {
  if (const json::string* given = if_string()) return std::string_view(*given);
  if (astray_ != Astray::kNo) return std::unexpected(is_missing() ? wrong_value(wanted()) : wrong_type(wanted()));
  return std::unexpected(value_ != nullptr ? wrong_type(expected) : wrong_value(expected));
}

JsonResult<const json::object*> JsonCursor::object(std::string_view expected) const {
  if (num_steps_ == 0) return root_;
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

JsonResult<const json::array*> JsonCursor::needed_array(std::string_view expected) const {
  auto given = array(expected);
  if (given && *given == nullptr) return std::unexpected(wrong_value(expected));
  return given;
}

JsonResult<void> JsonCursor::expect_only(std::initializer_list<std::string_view> names) const {
  OCTAVO_TRY(const json::object* given, needed_object());
  for (const auto& member : *given) {
    const std::string_view name = member.key();
    if (std::ranges::find(names, name) == names.end())
      return std::unexpected(wrong(fmt::format("the member {}", quote(name)), "none but those that are known"));
  }
  return {};
}

}  // namespace octavo
