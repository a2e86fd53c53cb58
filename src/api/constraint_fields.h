// The fields that say what an answer's text must look like: OpenAI's response_format, vLLM's guided_* and
// structured_outputs, llama.cpp's grammar and json_schema, and how other APIs ask for a schema.
//
// Constants, and free functions without state; any thread.
#pragma once

#include "api/api_field.h"

namespace octavo {

/// Keeps the constraint of a request: there can be one.
void ask_for(FieldReader& reader, std::string field, ConstraintSource source, bool is_of_content = false);
/// Asks for an answer that is a JSON text of the schema that is given. Error: the schema is no object and no boolean.
void ask_for_schema(FieldReader& reader, const JsonCursor& given, bool is_strict);
void ask_for_json_object(FieldReader& reader, const JsonCursor& given);

namespace field {

void take_response_format(FieldReader& reader, const ApiField& field);

}  // namespace field

/// vLLM's fields, which every API takes beside its own, and `additional_properties`.
extern const FieldTable kConstraintFields;
/// llama.cpp's.
extern const FieldTable kGrammarFields;

}  // namespace octavo
