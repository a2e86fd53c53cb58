#include "api/call/template_names.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <string>
#include <utility>

namespace octavo {

namespace json = boost::json;

TemplateValue template_value(const json::value& value) {
  if (value.is_bool()) return value.get_bool();
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double()) return value.get_double();
  if (value.is_string()) return std::string(value.get_string());
  if (const json::object* object = value.if_object()) return template_value(*object);
  const json::array* array = value.if_array();
  if (array == nullptr) return {};
  TemplateList list;
  list.reserve(array->size());
  for (const json::value& item : *array) list.push_back(template_value(item));
  return list;
}

TemplateValue template_value(const json::object& object) {
  TemplateDict dict;
  dict.reserve(object.size());
  for (const json::key_value_pair& member : object)
    dict.emplace_back(std::string(member.key()), template_value(member.value()));
  return dict;
}

void set_template_name(TemplateDict& names, std::string_view name, TemplateValue value) {
  std::erase_if(names, [&](const auto& known) { return known.first == name; });
  names.emplace_back(name, std::move(value));
}

ApiResult<void> add_template_names(const json::object& given, std::string_view path, TemplateDict& names) {
  for (const json::key_value_pair& member : given) {
    const std::string name = fmt::format("{}{}", path, std::string_view(member.key()));
    for (const std::string_view own : {"messages", "tools", "documents", "add_generation_prompt"})
      if (member.key() == own)
        return std::unexpected(invalid_value(name, name + ": the template finds this name by itself"));
    set_template_name(names, member.key(), template_value(member.value()));
  }
  return {};
}

}  // namespace octavo
