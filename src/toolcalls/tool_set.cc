#include "toolcalls/tool_set.h"

#include <array>
#include <utility>

namespace octavo {
namespace {

constexpr int kMaxDepth = 8;  // the most levels of anyOf within each other

const TemplateDict* dict_of(const TemplateValue* value) {
  return value == nullptr ? nullptr : std::get_if<TemplateDict>(value);
}
const TemplateValue* member(const TemplateDict* dict, std::string_view name) {
  const TemplateValue* found = nullptr;
  if (dict == nullptr) return found;
  for (const auto& [key, value] : *dict)
    if (key == name) found = &value;
  return found;
}
const std::string* text_of(const TemplateValue* value) {
  return value == nullptr ? nullptr : std::get_if<std::string>(value);
}
const TemplateList* list_of(const TemplateValue* value) {
  return value == nullptr ? nullptr : std::get_if<TemplateList>(value);
}

std::uint8_t named_type(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> kNames = {{{"string", kJsonString},
                                                                                       {"number", kJsonNumber},
                                                                                       {"integer", kJsonNumber},
                                                                                       {"boolean", kJsonBoolean},
                                                                                       {"null", kJsonNull},
                                                                                       {"object", kJsonObject},
                                                                                       {"array", kJsonArray}}};
  for (const auto& [known, type] : kNames)
    if (known == name) return type;
  return kAnyJson;
}

std::uint8_t type_of_value(const TemplateValue& value) {
  switch (value.index()) {
    case 0: return kJsonNull;
    case 1: return kJsonBoolean;
    case 2:
    case 3: return kJsonNumber;
    case 4: return kJsonString;
    case 5: return kJsonArray;
    default: return kJsonObject;
  }
}

std::uint8_t types_of_schema(const TemplateValue& schema, int depth) {
  const TemplateDict* dict = dict_of(&schema);
  if (dict == nullptr || depth == kMaxDepth) return kAnyJson;
  std::uint8_t types = 0;
  const TemplateValue* type = member(dict, "type");
  if (const std::string* name = text_of(type)) return named_type(*name);
  if (const TemplateList* names = list_of(type)) {
    for (const TemplateValue& name : *names)
      if (const std::string* text = text_of(&name)) types |= named_type(*text);
  } else if (const TemplateValue* only = member(dict, "const")) {
    types = type_of_value(*only);
  } else if (const TemplateList* values = list_of(member(dict, "enum"))) {
    for (const TemplateValue& value : *values) types |= type_of_value(value);
  } else {
    for (const std::string_view key : {"anyOf", "oneOf"})
      if (const TemplateList* forms = list_of(member(dict, key)))
        for (const TemplateValue& form : *forms) types |= types_of_schema(form, depth + 1);
  }
  return types == 0 ? std::uint8_t{kAnyJson} : types;
}

}  // namespace

ToolSet::ToolSet(const TemplateValue& tools) {
  const TemplateList* list = list_of(&tools);
  if (list == nullptr) return;
  for (const TemplateValue& tool : *list) {
    const TemplateDict* function = dict_of(member(dict_of(&tool), "function"));
    const std::string* name = text_of(member(function, "name"));
    if (name == nullptr) continue;
    Parameters& parameters = tools_[*name];
    const TemplateDict* schema = dict_of(member(function, "parameters"));
    const TemplateDict* properties = dict_of(member(schema, "properties"));
    if (properties == nullptr) continue;
    for (const auto& [key, value] : *properties) parameters[key] = types_of_schema(value, 0);
  }
}

std::uint8_t ToolSet::types_of(std::string_view tool, std::string_view parameter) const {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return kAnyJson;
  const auto type = found->second.find(parameter);
  return type == found->second.end() ? std::uint8_t{kAnyJson} : type->second;
}

}  // namespace octavo
