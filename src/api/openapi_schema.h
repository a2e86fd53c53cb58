// JSON schemas of what clients send and are sent, made from the rows of fields and from answers. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/call/api_field.h"

namespace octavo {

/// A body: the names of a path that are joined by dots are objects in objects. A member that no row names may be there.
boost::json::object schema_of_fields(ApiFields tables);
/// The value of one field. Null counts as not given, so it is allowed where the field need not be there.
boost::json::object schema_of_field(const ApiField& field);
/// The form that two answers have in common, of which the second one has null where nothing is to be told.
boost::json::object schema_of_answers(const boost::json::value& full, const boost::json::value& bare);

}  // namespace octavo
