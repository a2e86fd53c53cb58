// Conversations in JSON as the values that templates are rendered with.
#pragma once

#include <boost/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "template/values/template_input.h"

namespace octavo::test {

/// The origin of what a message of a role says.
inline jinja::Origin origin_of_role(std::string_view role) {
  if (role == "system" || role == "developer") return jinja::Origin::kSystem;
  if (role == "assistant") return jinja::Origin::kModel;
  return role == "tool" ? jinja::Origin::kTool : jinja::Origin::kUser;
}

inline jinja::Value to_value(jinja::TemplateInput& input, const boost::json::value& json, jinja::Origin origin) {
  switch (json.kind()) {
    case boost::json::kind::null: return jinja::Value::none();
    case boost::json::kind::bool_: return jinja::Value::boolean(json.get_bool());
    case boost::json::kind::int64: return jinja::Value::integer(json.get_int64());
    case boost::json::kind::uint64: return jinja::Value::real(static_cast<double>(json.get_uint64()));
    case boost::json::kind::double_: return jinja::Value::real(json.get_double());
    case boost::json::kind::string: return input.text(std::string_view(json.get_string()), origin);
    case boost::json::kind::array: {
      std::vector<jinja::Value> items;
      for (const boost::json::value& item : json.get_array()) items.push_back(to_value(input, item, origin));
      return input.list(items);
    }
    case boost::json::kind::object: break;
  }
  std::vector<std::pair<jinja::Value, jinja::Value>> entries;
  for (const auto& member : json.get_object())
    entries.emplace_back(input.text(std::string_view(member.key()), origin), to_value(input, member.value(), origin));
  return input.dict(entries);
}

/// Sets each member of an object as a name: "messages" by the role of each, "tools" as a tool's, names that end with
/// "_token" as the template's, others as the user's.
inline void set_names(jinja::TemplateInput& input, const boost::json::object& names) {
  for (const auto& member : names) {
    const std::string_view name(member.key());
    jinja::Origin origin = name.ends_with("_token") ? jinja::Origin::kTemplate : jinja::Origin::kUser;
    if (name == "tools") origin = jinja::Origin::kTool;
    if (name != "messages" || !member.value().is_array()) {
      input.set(name, to_value(input, member.value(), origin));
      continue;
    }
    std::vector<jinja::Value> messages;
    for (const boost::json::value& message : member.value().get_array()) {
      const auto* object = message.if_object();
      const auto* role = object == nullptr ? nullptr : object->if_contains("role");
      const bool is_text = role != nullptr && role->is_string();
      messages.push_back(to_value(input, message,
                                  origin_of_role(is_text ? std::string_view(role->get_string()) : std::string_view())));
    }
    input.set(name, input.list(messages));
  }
}

}  // namespace octavo::test
