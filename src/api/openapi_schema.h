// JSON schemas of what clients send and get, made from the rows of fields and from answers. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/call/api_field.h"

namespace octavo {

/// The schema of a body: dots in paths separate the names of nested objects. Members that no row names are allowed.
boost::json::object schema_of_fields(ApiFields tables);
/// The schema of a field's value. Null counts as absent, so it is allowed where the field is not needed.
boost::json::object schema_of_field(const ApiField& field);
/// The schema that two answers share; the second one has null where nothing is to be told.
boost::json::object schema_of_answers(const boost::json::value& full, const boost::json::value& bare);

}  // namespace octavo
