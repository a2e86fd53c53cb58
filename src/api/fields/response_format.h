// The form of an answer as an object with a `type` describes it: OpenAI's response_format and text.format, and what
// llama.cpp, vLLM, SGLang, TGI, Together and Fireworks write in their places.
//
// Free functions without state; any thread.
#pragma once

#include <string_view>

#include "api/call/api_field.h"

namespace octavo {

/// How an API reads such an object.
struct FormatReading {
  std::string_view schema_member = "json_schema";  // the member that is missed where a schema has to be there
  bool is_strict = false;                          // a schema that does not say so itself
};

/// Asks for the form. Errors name the member: an unknown type, no form where the type needs one, and a form that the
/// type does not go with, which would be left out.
void read_format(FieldReader& reader, const JsonCursor& format, FormatReading reading = {});

}  // namespace octavo
