// The fields of an API as data: one row for each that a client may send. A body is read by walking the rows, and the
// same rows are what documentation and /openapi.json say of the API, and where tests find the fields to send wrong
// values to.
//
// Rows are constants; a FieldReader serves one body on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "api/call/api_error.h"
#include "api/call/api_request.h"
#include "api/call/picture_addresses.h"
#include "json/json_cursor.h"

namespace octavo {

struct ServedModel;
struct OwnResponses;

/// The forms that a field's value may have in JSON.
enum class FieldForm : std::uint8_t {
  kBoolean,
  kInteger,
  kNumber,
  kString,
  kStrings,        // an array of strings
  kStringOrArray,  // a string, or an array whose elements the row's text describes
  kStringOrObject,
  kStringArrayOrObject,
  kBooleanOrObject,
  kArray,
  kObject,
  kAny,
};

enum class FieldUse : std::uint8_t {
  kHonoured,
  kHint,     // a hint: answers do not depend on it
  kIgnored,  // a warning says that it is ignored
  kRefused,  // refused unless its value asks for nothing
};

class FieldReader;
struct ApiField;
using TakeField = void (*)(FieldReader& reader, const ApiField& field);

/// One field, written by one of the functions below. A field that is no number has no bounds; a bound that depends on
/// the model is at most the row's.
struct ApiField {
  /// The path as clients write it, such as "options.top_p". "messages[].role" is a member of each element of a list:
  /// its row only describes what the row of the list reads.
  std::string_view path;
  FieldForm form = FieldForm::kAny;
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  std::string_view otherwise = {};  // the default in words; empty: the field needs none
  FieldUse use = FieldUse::kHonoured;
  std::span<const std::string_view> values = {};  // the only values of a string; empty: any
  double neutral = 0;     // the number that asks for nothing, where the field is refused or ignored
  std::string_view text;  // what the field asks for; or why it is refused or ignored, written behind "PATH: "
  bool is_needed = false;
  /// Reads the field. Called where the field, or the object that it is a member of, is given or needed. Null: nothing
  /// is read.
  TakeField take = nullptr;
};

namespace field {

/// Makes rows of one form. `otherwise`: see ApiField.
template <FieldForm kForm>
struct RowOf {
  constexpr ApiField operator()(std::string_view path, std::string_view otherwise, std::string_view text,
                                TakeField take = nullptr) const {
    return {.path = path, .form = kForm, .otherwise = otherwise, .text = text, .take = take};
  }
};
// Constants that are called as functions, and named so.
// NOLINTBEGIN(readability-identifier-naming)
inline constexpr RowOf<FieldForm::kBoolean> boolean;
inline constexpr RowOf<FieldForm::kString> string;
inline constexpr RowOf<FieldForm::kStrings> strings;
inline constexpr RowOf<FieldForm::kStringOrArray> string_or_array;
inline constexpr RowOf<FieldForm::kStringOrObject> string_or_object;
inline constexpr RowOf<FieldForm::kStringArrayOrObject> string_array_or_object;
inline constexpr RowOf<FieldForm::kBooleanOrObject> boolean_or_object;
inline constexpr RowOf<FieldForm::kArray> array;
inline constexpr RowOf<FieldForm::kObject> object;
inline constexpr RowOf<FieldForm::kAny> any;
// NOLINTEND(readability-identifier-naming)
constexpr ApiField one_of(std::string_view path, std::span<const std::string_view> values, std::string_view otherwise,
                          std::string_view text, TakeField take = nullptr) {
  ApiField field = string(path, otherwise, text, take);
  field.values = values;
  return field;
}

inline constexpr double kNoMax = std::numeric_limits<double>::max();
constexpr ApiField number(std::string_view path, double min, double max, std::string_view otherwise,
                          std::string_view text, TakeField take = nullptr) {
  return {.path = path,
          .form = FieldForm::kNumber,
          .min = min,
          .max = max,
          .otherwise = otherwise,
          .text = text,
          .take = take};
}
constexpr ApiField integer(std::string_view path, double min, double max, std::string_view otherwise,
                           std::string_view text, TakeField take = nullptr) {
  ApiField field = number(path, min, max, otherwise, text, take);
  field.form = FieldForm::kInteger;
  return field;
}

// Makers of rows for fields that are not honoured. `neutral`: see ApiField.
constexpr ApiField used(FieldUse use, ApiField field, double neutral = 0) {
  field.use = use;
  field.neutral = neutral;
  return field;
}
constexpr ApiField hint(ApiField field) { return used(FieldUse::kHint, field); }
constexpr ApiField hint(std::string_view path, std::string_view text) { return hint(any(path, "", text)); }
constexpr ApiField ignored(ApiField field) { return used(FieldUse::kIgnored, field); }
constexpr ApiField ignored(std::string_view path, std::string_view why, double neutral = 0) {
  return used(FieldUse::kIgnored, any(path, "", why), neutral);
}
constexpr ApiField refused(ApiField field) { return used(FieldUse::kRefused, field); }
constexpr ApiField refused(std::string_view path, std::string_view why, double neutral = 0) {
  return used(FieldUse::kRefused, any(path, "", why), neutral);
}
constexpr ApiField needed(ApiField field) {
  field.is_needed = true;
  return field;
}

}  // namespace field

/// The suffix of a name in a path whose value is a list.
inline constexpr std::string_view kElements = "[]";

using FieldTable = std::span<const ApiField>;
/// The tables by which an API's bodies are read, in this order.
using ApiFields = std::span<const FieldTable>;

/// The model that will answer a request, as far as reading the request needs it.
struct ApiContext {
  const ModelText& words;
  const ServedModel& model;
  const OwnResponses* responses = nullptr;       // responses that a request of /v1/responses may continue; else null
  std::span<const TokenId> prompt = {};          // token ids that replace the body's `prompt`; empty: the body's counts
  const UnfetchedPictures* unfetched = nullptr;  // pictures that were not fetched; null: none was tried
};

/// A seed for a request that names none, below 2^53: answers tell it, and readers of JSON may keep numbers as doubles.
std::uint64_t drawn_seed();
/// A new request with the server's values for all that a body may leave out.
ApiRequest request_of(const ServedModel& model);

/// A body that is read into an ApiRequest. The reader keeps the first error.
class FieldReader {
 public:
  FieldReader(const boost::json::object& given, const ApiContext& known, ApiRequest& made)
      : body(given), context(known), request(made) {}

  /// A cursor at a path, whose names are joined by dots.
  JsonCursor at(std::string_view path) const;
  /// The value that a cursor has read, an optional or a pointer; empty where that is an error, which is kept.
  template <class T>
  T take(JsonResult<T> read) {
    if (read) return *read;
    refuse(std::move(read.error()));
    return T();
  }
  /// Keeps an error, if it is the first.
  void refuse(ApiError error) {
    if (!error_) error_ = std::move(error);
  }
  void refuse(JsonError error) { refuse(to_api_error(std::move(error))); }
  bool failed() const { return error_.has_value(); }
  const std::optional<ApiError>& error() const { return error_; }
  /// Keeps the error of a part that was read by a cursor, if it had one.
  void keep(ApiResult<void> read) {
    if (!read) refuse(std::move(read.error()));
  }
  /// Reads the fields of the tables in their order, up to the first error.
  void read(ApiFields tables);

  const boost::json::object& body;
  const ApiContext& context;
  ApiRequest& request;

 private:
  std::optional<ApiError> error_;
};

/// The request with what a body asks for by these tables. Error: the first one in the body.
ApiResult<ApiRequest> read_request(ApiRequest request, const boost::json::object& body, const ApiContext& context,
                                   ApiFields fields);

template <auto kMember, auto... kInner, class Object>
auto& member_of(Object& object) {
  auto& member = std::invoke(kMember, object);
  if constexpr (sizeof...(kInner) == 0) {
    return member;
  } else {
    return member_of<kInner...>(member);
  }
}

/// Reads a field into a member of the request: a bool, an int, a float, a double, a string or an optional of one.
template <auto... kMembers>
void into(FieldReader& reader, const ApiField& field) {
  auto& place = member_of<kMembers...>(reader.request);
  using Place = std::remove_reference_t<decltype(place)>;
  const JsonCursor given = reader.at(field.path);
  if constexpr (std::is_same_v<Place, bool>) {
    if (const auto value = reader.take(given.boolean())) place = *value;
  } else if constexpr (std::is_same_v<Place, float>) {
    if (const auto value = reader.take(given.number(static_cast<float>(field.min), static_cast<float>(field.max))))
      place = *value;
  } else if constexpr (std::is_same_v<Place, double>) {
    if (const auto value = reader.take(given.number(field.min, field.max))) place = *value;
  } else if constexpr (std::is_same_v<Place, int>) {
    if (const auto value =
            reader.take(given.integer(static_cast<std::int64_t>(field.min), static_cast<std::int64_t>(field.max))))
      place = static_cast<int>(*value);
  } else {
    static_assert(std::is_same_v<Place, std::string>);
    if (const auto value = reader.take(given.string())) place = *value;
  }
}

/// Check the form of a field that is read elsewhere.
void check_boolean(FieldReader& reader, const ApiField& field);
void check_integer(FieldReader& reader, const ApiField& field);
void check_string(FieldReader& reader, const ApiField& field);
void check_object(FieldReader& reader, const ApiField& field);

/// Whether a value asks for nothing: false, an empty string, array or object, or the neutral number.
bool asks_for_nothing(const boost::json::value& value, double neutral);

}  // namespace octavo
