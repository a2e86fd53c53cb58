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
#include <optional>
#include <string>
#include <string_view>

#include "json/json_error.h"

namespace octavo {

/// A value as a message shows it: "the string \"abc\"", "the number 3", "an array of 2".
std::string describe_json(const boost::json::value& value);

/// An integer that JSON spells as one, or as a number without a fraction (5.0); nothing for all else.
std::optional<std::int64_t> as_integer(const boost::json::value& value);

class JsonCursor {
 public:
  /// The whole of a text; `path` is where it stands itself, if it is a part of another: "tools[2]".
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
  /// The value as one of a kind; nullptr as well where it is of another. For what may be anything: no error is made.
  const boost::json::string* if_string() const { return is_given() ? value_->if_string() : nullptr; }
  const boost::json::array* if_array() const { return is_given() ? value_->if_array() : nullptr; }
  const boost::json::object* if_object() const { return is_given() ? value_->if_object() : nullptr; }
  /// "messages[2].content"
  std::string path() const;

  /// A value of the kind; nothing where none is given. Errors: another kind, or out of the bounds.
  JsonResult<std::optional<bool>> boolean() const;
  JsonResult<std::optional<std::int64_t>> integer(std::int64_t min, std::int64_t max) const;
  /// An integer of at least `min`; one that 64 bits do not hold is the largest that they do.
  JsonResult<std::optional<std::int64_t>> integer_from(std::int64_t min) const;
  JsonResult<std::optional<double>> number(double min, double max) const;
  /// Bounds and value are compared as floats, and so the bounds are written: 0.01, no 0.009999999776482582.
  JsonResult<std::optional<float>> number(float min, float max) const;
  JsonResult<std::optional<std::string_view>> string() const;
  /// The same of a string that must be there.
  JsonResult<std::string_view> needed_string(std::string_view expected = "a string") const;
  /// nullptr: none is given. `expected` says what the value is, for the error: "a message (an object)".
  JsonResult<const boost::json::object*> object(std::string_view expected = "an object") const;
  JsonResult<const boost::json::array*> array(std::string_view expected) const;
  /// The same of an object that must be there: never nullptr.
  JsonResult<const boost::json::object*> needed_object(std::string_view expected = "an object") const;

  /// "PATH: found WHAT STANDS THERE, expected ...", as an error of the kind and as one of the value.
  JsonError wrong_type(std::string_view expected) const;
  JsonError wrong_value(std::string_view expected, std::string_view code = "invalid_value") const;
  /// "PATH: MESSAGE"
  JsonError error(std::string_view message, std::string_view code = "invalid_value") const;

 private:
  template <class T>
  using Read = JsonResult<std::optional<T>>;

  bool is_missing() const { return value_ == nullptr || value_->is_null(); }
  /// Whether a member or an element was looked for in what is no object or no array, or is not there.
  enum class Astray : std::uint8_t { kNo, kNoObject, kNoArray };

  /// A member's name, or an element's index.
  struct Step {
    const char* name;    // nullptr: an element
    std::size_t number;  // bytes of the name, or the index
  };

  JsonCursor astray(Astray how) const;
  /// The place of a member or an element of this one.
  JsonCursor moved(Step step, const boost::json::value* value) const;
  /// The form that the value had to have.
  std::string_view wanted() const { return astray_ == Astray::kNoArray ? "an array" : "an object"; }
  /// The value as `take` makes it, if there is one.
  template <class T, class Take>
  Read<T> read(const Take& take) const;
  template <class Number>
  Read<Number> read_number(Number min, Number max) const;
  JsonError wrong_number(std::string_view expected) const;

  static constexpr std::size_t kMaxDepth = 16;  // the deepest place of an API is 7 away

  const boost::json::object* root_ = nullptr;
  std::string_view root_path_;
  const boost::json::value* value_ = nullptr;  // null only as an element of an array
  Astray astray_ = Astray::kNo;
  std::uint8_t num_steps_ = 0;  // the steps from the root
  std::array<Step, kMaxDepth> steps_;
};

}  // namespace octavo
