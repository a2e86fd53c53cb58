// Writes JSON at the end of a string, with commas of its own: what is sent once a token is written without a tree of
// values.
//
//     JsonWriter json(out);
//     json.begin_object().fields("id", id, "created",
//     12).key("data").begin_array().value("a").end_array().end_object();
//
// Whether a comma is needed is seen by the last character of the string: none behind {, [ and :, nor behind white space
// or nothing, where a text begins. So a writer has no state, and several may write one text, each a part. It is a view
// that is cheap to copy; the string outlives it. One thread at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "json/json_string.h"

namespace octavo {

/// A value that is JSON already.
struct JsonText {
  std::string_view text = {};
};
/// An array whose elements are JSON already, with commas between them.
struct JsonElements {
  std::string_view text = {};
};

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(&out) {}

  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }

  /// The name of a member, whose value follows; it has no characters that need an escape.
  JsonWriter& key(std::string_view name);
  /// The name of a member, of any characters in UTF-8.
  JsonWriter& escaped_key(std::string_view name);
  /// A value: a text in UTF-8, a number, true or false, nullptr, a JsonText, a JsonElements, an optional (null where
  /// there is none), or a range of such. A number is the shortest that reads back as itself.
  template <class Value>
  JsonWriter& value(const Value& value);
  /// Members: names and their values by turns.
  template <class Value, class... More>
  JsonWriter& fields(std::string_view name, const Value& value, const More&... more);
  JsonWriter& fields() { return *this; }
  /// Members or elements that are JSON already, with commas between them; perhaps none.
  JsonWriter& raw(std::string_view text) {
    if (text.empty()) return *this;
    separate();
    *out_ += text;
    return *this;
  }
  /// An object of these members.
  template <class... Fields>
  JsonWriter& object(const Fields&... members) {
    return begin_object().fields(members...).end_object();
  }

 private:
  JsonWriter& begin(char bracket) {
    separate();
    *out_ += bracket;
    return *this;
  }
  JsonWriter& end(char bracket) {
    *out_ += bracket;
    return *this;
  }
  /// The comma, where one is needed.
  void separate() {
    constexpr std::string_view kBeforeFirst = "{[: \n";
    if (!out_->empty() && !kBeforeFirst.contains(out_->back())) *out_ += ',';
  }
  void append(std::int64_t number);
  void append(std::uint64_t number);
  void append(double number);
  void append(float number);

  std::string* out_;
};

/// The text of an object of these members.
template <class... Fields>
std::string json_object(const Fields&... members) {
  std::string out;
  JsonWriter(out).object(members...);
  return out;
}

template <class Value, class... More>
JsonWriter& JsonWriter::fields(std::string_view name, const Value& value, const More&... more) {
  return key(name).value(value).fields(more...);
}

template <class Value>
JsonWriter& JsonWriter::value(const Value& value) {
  if constexpr (std::same_as<Value, JsonText>) {
    raw(value.text);
  } else if constexpr (std::same_as<Value, JsonElements>) {
    begin_array().raw(value.text).end_array();
  } else if constexpr (std::convertible_to<const Value&, std::string_view>) {
    separate();
    append_json_string(*out_, value);
  } else if constexpr (std::same_as<Value, bool>) {
    separate();
    *out_ += value ? "true" : "false";
  } else if constexpr (std::same_as<Value, std::nullptr_t>) {
    separate();
    *out_ += "null";
  } else if constexpr (std::signed_integral<Value>) {
    separate();
    append(std::int64_t{value});
  } else if constexpr (std::unsigned_integral<Value>) {
    separate();
    append(std::uint64_t{value});
  } else if constexpr (std::floating_point<Value>) {
    separate();
    append(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? this->value(*value) : this->value(nullptr);
  } else {
    begin_array();
    for (const auto& element : value) this->value(element);
    end_array();
  }
  return *this;
}

}  // namespace octavo
