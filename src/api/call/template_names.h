// The names that a chat template finds beside the messages, of a request or of the whole server.
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/chat.h"

namespace octavo {

/// A JSON value as templates see it. Integers beyond 64 bits become doubles.
TemplateValue template_value(const boost::json::value& value);
TemplateValue template_value(const boost::json::object& object);

/// Gives the name a value, which takes the place of the one that it has, if it has one.
void set_template_name(TemplateDict& names, std::string_view name, TemplateValue value);
/// Each member of `given`. Error: a name that the template finds by itself, behind `path`.
ApiResult<void> add_template_names(const boost::json::object& given, std::string_view path, TemplateDict& names);

}  // namespace octavo
