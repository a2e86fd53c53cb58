// A place in a JSON text, by which all readers read the texts of others: `body["options"]["top_p"].number(0, 1)`.
// Errors name the finding, the expectation, and the place as the text has it: "options.top_p".
//
// A cursor is a view: the values, and the names that the cursor was made with, outlive it. A cursor keeps the names and
// indexes that led to it, so that a path is written where an error needs it, and costs its own length, however long the
// text is. Any thread.
#pragma once

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "json/json_error.h"
#include "json/json_limits.h"

namespace octavo {

/// A value as a message shows it: "the string \"abc\"", "the number 3", "an array of 2".
std::string describe_json(const boost::json::value& value);

/// An integer that JSON spells as an integer or as a number without a fraction (5.0); none for other values.
std::optional<std::int64_t> as_integer(const boost::json::value& value);

class JsonCursor {
 public:
  /// The cursor at the whole of a text; `path` is the text's place in another one, "tools[2]", or a file's name with
  /// a colon and a space behind it.
  explicit JsonCursor(const boost::json::object& root, std::string_view path = {}) : root_(&root), root_path_(path) {}
  JsonCursor(const JsonCursor& other) { *this = other; }
  JsonCursor& operator=(const JsonCursor& other);
  ~JsonCursor() = default;

  /// A member, or an element. Where there is none, or it is null, or this is no object or array at all, the cursor
  /// stands at a place without a value, and what is read there is missing, or in the last case the error. A place is at
  /// most kMaxDepth names and indexes away from the whole.
  JsonCursor operator[](std::string_view name) const;
  JsonCursor operator[](std::size_t index) const;

  /// The value; nullptr for a missing value, for null, and for the whole, which is no value of its own.
  const boost::json::value* value() const { return is_missing() || astray_ != Astray::kNo ? nullptr : value_; }
  bool is_given() const { return value() != nullptr; }
  /// The value as one of a kind, where any value may stand; nullptr also for a value of another kind.
  const boost::json::string* if_string() const { return is_given() ? value_->if_string() : nullptr; }
  const boost::json::array* if_array() const { return is_given() ? value_->if_array() : nullptr; }
  const boost::json::object* if_object() const { return is_given() ? value_->if_object() : nullptr; }
  /// The place as errors name it: "messages[2].content".
  std::string path() const;

  /// A value of the kind; none where no value is given. Errors: another kind; a value out of the bounds.
  JsonResult<std::optional<bool>> boolean() const;
  JsonResult<bool> boolean_or(bool otherwise) const;
  JsonResult<std::optional<std::int64_t>> integer(std::int64_t min, std::int64_t max) const;
  /// An integer of at least `min`; an integer beyond 64 bits is the largest that they hold.
  JsonResult<std::optional<std::int64_t>> integer_from(std::int64_t min) const;
  /// An integer that must be there.
  JsonResult<std::int64_t> needed_integer(std::int64_t min, std::int64_t max) const;
  JsonResult<std::optional<double>> number(double min, double max) const;
  /// A number; bounds are compared and written as floats: 0.01, not 0.009999999776482582.
  JsonResult<std::optional<float>> number(float min, float max) const;
  JsonResult<std::optional<std::string_view>> string() const;
  JsonResult<std::string_view> string_or(std::string_view otherwise) const;
  /// A string that must be there.
  JsonResult<std::string_view> needed_string(std::string_view expected = "a string") const;
  /// An object or array; nullptr where none is given. `expected` names it in errors: "a message (an object)".
  JsonResult<const boost::json::object*> object(std::string_view expected = "an object") const;
  JsonResult<const boost::json::array*> array(std::string_view expected) const;
  /// An array, or an object, that must be there; never nullptr.
  JsonResult<const boost::json::array*> needed_array(std::string_view expected) const;
  JsonResult<const boost::json::object*> needed_object(std::string_view expected = "an object") const;

  /// Error: no object is given, or one with another member.
  JsonResult<void> expect_only(std::initializer_list<std::string_view> names) const;

  /// The error "PATH: found THE VALUE, expected ...", of the kind, or of the value.
  JsonError wrong_type(std::string_view expected) const;
  JsonError wrong_value(std::string_view expected, std::string_view code = "invalid_value") const;
  /// The error "PATH: found FOUND, expected EXPECTED".
  JsonError wrong(std::string_view found, std::string_view expected) const;
  /// The error "PATH: MESSAGE".
  JsonError error(std::string_view message, std::string_view code = "invalid_value") const;

 private:
  template <class T>
  using Read = JsonResult<std::optional<T>>;

  bool is_missing() const { return value_ == nullptr || value_->is_null(); }
  /// Whether a member or an element was looked for in a value that is no object or no array, or that is missing.
  enum class Astray : std::uint8_t { kNo, kNoObject, kNoArray };

  /// A member's name, or an element's index.
  struct Step {
    const char* name;    // nullptr: an element
    std::size_t number;  // bytes of the name, or the index
  };

  JsonCursor astray(Astray how) const;
  /// The place of a member or an element of the value of `from`.
  JsonCursor(const JsonCursor& from, Step step, const boost::json::value* value);
  /// The form that the value had to have.
  std::string_view wanted() const { return astray_ == Astray::kNoArray ? "an array" : "an object"; }
  /// The value as `take` makes it, if a value is given.
  template <class T, class Take>
  Read<T> read(const Take& take) const;
  template <class Number>
  Read<Number> read_number(Number min, Number max) const;
  JsonError wrong_number(std::string_view expected) const;

  static constexpr std::size_t kMaxDepth = kMaxJsonDepth;

  const boost::json::object* root_ = nullptr;
  std::string_view root_path_;
  const boost::json::value* value_ = nullptr;  // null only as an element of an array
  Astray astray_ = Astray::kNo;
  std::uint8_t num_steps_ = 0;  // the steps from the root
  std::array<Step, kMaxDepth> steps_;
};

}  // namespace octavo
