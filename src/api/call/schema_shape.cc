#include "api/call/schema_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "json/json_cursor.h"

namespace octavo {
namespace {

namespace json = boost::json;

enum class Shape : std::uint8_t {
  kType,  // the name of one of the seven types, or an array of such names
  kText,
  kNumber,
  kNumberOrFlag,  // a number; in draft 4 also a boolean
  kCount,
  kFlag,
  kList,   // an array of any values
  kNames,  // an array of strings; in draft 3 also a boolean
  kSchema,
  kSchemas,        // an array of schemas
  kSchemaOrList,   // a schema, or an array of schemas
  kSchemasByName,  // an object whose values are schemas
  kNamesByName,    // an object whose values are arrays of strings
  kDependencies,   // an object whose values are schemas or arrays of strings
};

struct Keyword {
  std::string_view name;
  Shape shape;
};
constexpr Keyword kKeywords[] = {
    {"type", Shape::kType},
    {"enum", Shape::kList},
    {"required", Shape::kNames},
    {"properties", Shape::kSchemasByName},
    {"patternProperties", Shape::kSchemasByName},
    {"$defs", Shape::kSchemasByName},
    {"definitions", Shape::kSchemasByName},
    {"dependentSchemas", Shape::kSchemasByName},
    {"dependentRequired", Shape::kNamesByName},
    {"dependencies", Shape::kDependencies},
    {"additionalProperties", Shape::kSchema},
    {"unevaluatedProperties", Shape::kSchema},
    {"propertyNames", Shape::kSchema},
    {"items", Shape::kSchemaOrList},
    {"prefixItems", Shape::kSchemas},
    {"additionalItems", Shape::kSchema},
    {"unevaluatedItems", Shape::kSchema},
    {"contains", Shape::kSchema},
    {"allOf", Shape::kSchemas},
    {"anyOf", Shape::kSchemas},
    {"oneOf", Shape::kSchemas},
    {"not", Shape::kSchema},
    {"if", Shape::kSchema},
    {"then", Shape::kSchema},
    {"else", Shape::kSchema},
    {"$ref", Shape::kText},
    {"pattern", Shape::kText},
    {"format", Shape::kText},
    {"minimum", Shape::kNumber},
    {"maximum", Shape::kNumber},
    {"exclusiveMinimum", Shape::kNumberOrFlag},
    {"exclusiveMaximum", Shape::kNumberOrFlag},
    {"multipleOf", Shape::kNumber},
    {"minLength", Shape::kCount},
    {"maxLength", Shape::kCount},
    {"minItems", Shape::kCount},
    {"maxItems", Shape::kCount},
    {"minProperties", Shape::kCount},
    {"maxProperties", Shape::kCount},
    {"minContains", Shape::kCount},
    {"maxContains", Shape::kCount},
    {"uniqueItems", Shape::kFlag},
};
constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "number", "integer",
                                                    "string", "array",   "object"};
/// Keywords whose values are data, and never schemas.
constexpr std::array<std::string_view, 4> kValues = {"const", "enum", "default", "examples"};
/// Keywords whose members are schemas under names that the client chose.
constexpr std::array<std::string_view, 6> kNamed = {"properties",  "patternProperties", "$defs",
                                                    "definitions", "dependentSchemas",  "dependencies"};

bool is_type(const json::value& value) {
  return value.is_string() && std::ranges::find(kTypes, std::string_view(value.get_string())) != kTypes.end();
}

bool is_text(const json::value& value) { return value.is_string(); }

/// Whether a value is a whole number of at least 0, even one beyond 64 bits.
bool is_count(const json::value& value) {
  if (value.is_double()) return value.get_double() >= 0 && std::trunc(value.get_double()) == value.get_double();
  return value.is_uint64() || (value.is_int64() && value.get_int64() >= 0);
}

template <class Predicate>
bool is_array_of(const json::value& value, const Predicate& predicate) {
  return value.is_array() && std::ranges::all_of(value.get_array(), predicate);
}

class ShapeCheck {
 public:
  explicit ShapeCheck(std::string_view origin) : origin_(origin) {}

  std::optional<SchemaMistake> run(const json::object& schema) {
    check_members(schema);
    return std::move(mistake_);
  }

 private:
  void expect(bool is_right, const json::value& found, std::string_view expected) {
    if (is_right || mistake_) return;
    std::string place(origin_);
    for (const std::string& step : path_) place += step;
    place = printable(place);
    std::string text = fmt::format("{}: found {}, expected {}", place, describe_json(found), expected);
    mistake_ = SchemaMistake{.place = std::move(place), .text = std::move(text)};
  }

  template <class Check>
  void at(std::string step, const Check& check) {
    path_.push_back(std::move(step));
    check();
    path_.pop_back();
  }

  void check_schema(const json::value& schema) {
    if (const json::object* members = schema.if_object()) return check_members(*members);
    expect(schema.is_bool(), schema, "a schema: an object, true or false");
  }

  void check_members(const json::object& schema) {
    for (const json::key_value_pair& member : schema) {
      if (mistake_) return;
      const auto* const keyword = std::ranges::find(kKeywords, std::string_view(member.key()), &Keyword::name);
      if (keyword != std::end(kKeywords) && !member.value().is_null())
        at(fmt::format(".{}", keyword->name), [&] { check(keyword->shape, member.value()); });
    }
  }

  void check_list(const json::value& list) {
    expect(list.is_array(), list, "an array of schemas");
    for (std::size_t i = 0; list.is_array() && i < list.get_array().size() && !mistake_; ++i)
      at(fmt::format("[{}]", i), [&] { check_schema(list.get_array()[i]); });
  }

  /// Checks an object whose values are schemas, arrays of names, or either. A null value counts as absent.
  void check_named(const json::value& named, Shape shape) {
    const bool takes_names = shape != Shape::kSchemasByName, takes_schemas = shape != Shape::kNamesByName;
    expect(named.is_object(), named, takes_schemas ? "an object of schemas" : "an object of arrays of names");
    if (!named.is_object()) return;
    for (const json::key_value_pair& member : named.get_object()) {
      if (mistake_) return;
      if (member.value().is_null()) continue;
      at(fmt::format(".{}", std::string_view(member.key())), [&] {
        const bool are_names = takes_names && (!takes_schemas || member.value().is_array());
        if (!are_names) return check_schema(member.value());
        expect(is_array_of(member.value(), is_text), member.value(), "an array of names");
      });
    }
  }

  void check(Shape shape, const json::value& value) {
    switch (shape) {
      case Shape::kType:
        return expect(is_type(value) || is_array_of(value, is_type), value, "one or several of the seven types");
      case Shape::kText: return expect(value.is_string(), value, "a text");
      case Shape::kNumber: return expect(value.is_number(), value, "a number");
      case Shape::kNumberOrFlag: return expect(value.is_number() || value.is_bool(), value, "a number");
      case Shape::kCount: return expect(is_count(value), value, "a whole number from 0");
      case Shape::kFlag: return expect(value.is_bool(), value, "true or false");
      case Shape::kList: return expect(value.is_array(), value, "an array of values");
      case Shape::kNames: return expect(value.is_bool() || is_array_of(value, is_text), value, "an array of names");
      case Shape::kSchema: return check_schema(value);
      case Shape::kSchemas: return check_list(value);
      case Shape::kSchemaOrList: return value.is_array() ? check_list(value) : check_schema(value);
      case Shape::kSchemasByName:
      case Shape::kNamesByName:
      case Shape::kDependencies: return check_named(value, shape);
    }
  }

  const std::string_view origin_;
  std::vector<std::string> path_;  // the steps to the value, as a place writes them
  std::optional<SchemaMistake> mistake_;
};

}  // namespace

std::optional<SchemaMistake> mistake_in_schema(const json::object& schema, std::string_view origin) {
  return ShapeCheck(origin).run(schema);
}

void drop_null_keywords(TemplateValue& schema) {
  if (auto* list = std::get_if<TemplateList>(&schema)) std::ranges::for_each(*list, drop_null_keywords);
  auto* members = std::get_if<TemplateDict>(&schema);
  if (members == nullptr) return;
  std::erase_if(*members, [](const auto& member) {
    return std::holds_alternative<std::monostate>(member.second) &&
           std::ranges::find(kKeywords, member.first, &Keyword::name) != std::end(kKeywords);
  });
  for (auto& [name, value] : *members) {
    if (std::ranges::find(kValues, name) != kValues.end()) continue;
    auto* named = std::get_if<TemplateDict>(&value);
    if (named == nullptr || std::ranges::find(kNamed, name) == kNamed.end()) {
      drop_null_keywords(value);
    } else {
      for (auto& member : *named) drop_null_keywords(member.second);
    }
  }
}

}  // namespace octavo
