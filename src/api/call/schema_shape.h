// Whether a JSON schema of a tool is one: that its keywords have values of the forms that JSON Schema gives them. A
// schema that no answer is held to is compiled by nobody, and a mistake in it would never be told.
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
  std::string place = {};  // as the client wrote it: "tools[0].parameters.properties.a.type"
  std::string text = {};   // the finding and the expectation, behind the place
};

/// The first mistake of the schema that stands at `origin`. A keyword that is null counts as one that is not there.
std::optional<SchemaMistake> mistake_in_schema(const boost::json::object& schema, std::string_view origin);

/// Drops the keywords of a schema that are null, as templates should not see them: `schema` is the dict of one. What is
/// a value and no schema, as `default` and `const`, stays.
void drop_null_keywords(TemplateValue& schema);

}  // namespace octavo
