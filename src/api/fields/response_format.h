// The form of an answer as an object with a `type`: OpenAI's response_format and text.format, and what llama.cpp, vLLM,
// SGLang, TGI, Together and Fireworks have in their places.
//
// Free functions without state; any thread.
#pragma once

#include <string_view>

#include "api/call/api_field.h"

namespace octavo {

/// How an API reads the object.
struct FormatReading {
  std::string_view schema_member = "json_schema";  // the member that an error names where the schema is missing
  bool is_strict = false;                          // how strict a schema is that does not say
};

/// Asks for the form. Errors name the member: an unknown type; a form that is missing; a form that does not belong to
/// the type, and would have no effect.
void read_format(FieldReader& reader, const JsonCursor& format, FormatReading reading = {});

}  // namespace octavo
