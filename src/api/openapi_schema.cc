#include "api/openapi_schema.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <cmath>
#include <string>
#include <string_view>

namespace octavo {
namespace {

namespace json = boost::json;

/// The JSON types of a form; empty: any.
json::array types_of(FieldForm form) {
  switch (form) {
    case FieldForm::kBoolean: return {"boolean"};
    case FieldForm::kInteger: return {"integer"};
    case FieldForm::kNumber: return {"number"};
    case FieldForm::kString: return {"string"};
    case FieldForm::kStrings:
    case FieldForm::kArray: return {"array"};
    case FieldForm::kStringOrArray: return {"string", "array"};
    case FieldForm::kStringOrObject: return {"string", "object"};
    case FieldForm::kStringArrayOrObject: return {"string", "array", "object"};
    case FieldForm::kBooleanOrObject: return {"boolean", "object"};
    case FieldForm::kObject: return {"object"};
    case FieldForm::kAny: break;
  }
  return {};
}

/// A bound as people write it: as an integer, where it is whole.
json::value bound_of(double bound) {
  if (bound != std::floor(bound)) return bound;
  if (bound < 0) return static_cast<std::int64_t>(bound);
  constexpr double kTooLarge = 18446744073709551616.0;  // 2^64, which the largest integer becomes as a double
  return bound < kTooLarge ? static_cast<std::uint64_t>(bound) : std::numeric_limits<std::uint64_t>::max();
}

std::string_view name_of(FieldUse use) {
  switch (use) {
    case FieldUse::kHint: return "hint";
    case FieldUse::kIgnored: return "ignored";
    case FieldUse::kRefused: return "refused";
    case FieldUse::kHonoured: break;
  }
  return "honoured";
}

std::string description_of(const ApiField& field) {
  std::string text(field.text);
  if (field.use == FieldUse::kHint) text = fmt::format("changes no answer: {}", field.text);
  if (field.use == FieldUse::kIgnored) text = fmt::format("ignored, with a warning: {}", field.text);
  if (field.use == FieldUse::kRefused) text = fmt::format("refused, unless it asks for nothing: {}", field.text);
  if (!field.otherwise.empty()) text += fmt::format(" (default: {})", field.otherwise);
  return text;
}

json::object& member_in(json::object& holder, std::string_view name) {
  return holder.emplace(name, json::object()).first->value().as_object();
}

void add_field(json::object& body, const ApiField& field) {
  json::object* holder = &body;
  std::string_view rest = field.path;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    std::string_view name = rest.substr(0, dot);
    const bool is_list = name.ends_with(kElements);
    if (is_list) name.remove_suffix(kElements.size());
    holder = &member_in(member_in(*holder, "properties"), name);
    if (is_list) holder = &member_in(*holder, "items");
    holder->emplace("type", is_list ? json::array{"object"} : json::array{"object", "null"});
    rest.remove_prefix(dot + 1);
  }
  json::object& place = member_in(member_in(*holder, "properties"), rest);
  for (const json::key_value_pair& part : schema_of_field(field)) place[part.key()] = part.value();
  if (field.is_needed) holder->emplace("required", json::array()).first->value().as_array().emplace_back(rest);
}

json::array types_of_answer(const json::value& full, const json::value& bare) {
  json::array types;
  switch (full.kind()) {
    case json::kind::string: types = {"string"}; break;
    case json::kind::bool_: types = {"boolean"}; break;
    case json::kind::array: types = {"array"}; break;
    case json::kind::object: types = {"object"}; break;
    default: types = {"number"}; break;
  }
  if (bare.is_null()) types.emplace_back("null");
  return types;
}

}  // namespace

json::object schema_of_field(const ApiField& field) {
  json::object schema;
  if (json::array types = types_of(field.form); !types.empty()) {
    if (!field.is_needed) types.emplace_back("null");
    schema["type"] = std::move(types);
  }
  if (!field.values.empty()) {
    json::array values(field.values.begin(), field.values.end());
    if (!field.is_needed) values.emplace_back(nullptr);
    schema["enum"] = std::move(values);
  }
  if (field.form == FieldForm::kStrings) schema["items"] = {{"type", "string"}};
  if (field.min > std::numeric_limits<double>::lowest()) schema["minimum"] = bound_of(field.min);
  if (field.max < std::numeric_limits<double>::max()) schema["maximum"] = bound_of(field.max);
  schema["description"] = description_of(field);
  schema["x-octavo-use"] = name_of(field.use);
  return schema;
}

json::object schema_of_fields(ApiFields tables) {
  json::object schema = {{"type", "object"}};
  for (const FieldTable table : tables)
    for (const ApiField& field : table) add_field(schema, field);
  schema["additionalProperties"] = true;
  return schema;
}

json::object schema_of_answers(const json::value& full, const json::value& bare) {
  json::object schema = {{"type", types_of_answer(full, bare)}};
  if (!full.is_object() || !bare.is_object()) return schema;
  json::array names;
  for (const json::key_value_pair& member : full.get_object()) {
    const json::value* other = bare.get_object().if_contains(member.key());
    member_in(schema, "properties")[member.key()] =
        schema_of_answers(member.value(), other == nullptr ? json::value(nullptr) : *other);
    if (other != nullptr) names.emplace_back(member.key());
  }
  schema["required"] = std::move(names);
  return schema;
}

}  // namespace octavo
