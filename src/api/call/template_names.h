// The names that a chat template can read besides the messages, given by a request or for the whole server.
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/chat.h"

namespace octavo {

/// A JSON value in the form of templates. Integers beyond 64 bits become doubles.
TemplateValue template_value(const boost::json::value& value);
TemplateValue template_value(const boost::json::object& object);

/// Sets the value of a name, in place of the one that it may have.
void set_template_name(TemplateDict& names, std::string_view name, TemplateValue value);
/// Sets each member of `given`. Error: a name that the template has by itself, with `path` as its place.
ApiResult<void> add_template_names(const boost::json::object& given, std::string_view path, TemplateDict& names);

}  // namespace octavo
