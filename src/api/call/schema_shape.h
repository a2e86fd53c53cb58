// Checks that a tool's JSON schema is one: that its keywords have values of the forms that JSON Schema gives them. A
// schema that is not enforced is never compiled, so that nothing else would find a mistake in it.
//
// Free functions without state; they take as long as the schema. Any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "octavo/chat.h"

namespace octavo {

struct SchemaMistake {
  std::string place = {};  // where the mistake is in the body: "tools[0].parameters.properties.a.type"
  std::string text = {};   // what was found and what was expected, written behind the place
};

/// The first mistake in the schema that the body has at `origin`. A keyword with null counts as absent.
std::optional<SchemaMistake> mistake_in_schema(const boost::json::object& schema, std::string_view origin);

/// Removes the keywords with null from a schema in the form of templates, which should not see them. Values that are no
/// schemas, as those of `default` and `const`, stay.
void drop_null_keywords(TemplateValue& schema);

}  // namespace octavo
