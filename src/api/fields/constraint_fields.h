// The fields that say what an answer's text must look like: OpenAI's response_format, vLLM's guided_* and
// structured_outputs, llama.cpp's grammar and json_schema, ollama's format, and how other APIs ask for a schema.
//
// Constants, and free functions without state; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

/// Sets the constraint of a request, which can have only one.
void ask_for(FieldReader& reader, std::string field, ConstraintSource source, bool is_of_content = false);
/// Asks for an answer that is JSON of a schema; `given` is the schema, or a string with its text. Error: `given` is no
/// object, no boolean and no string.
void ask_for_schema(FieldReader& reader, const JsonCursor& given, bool is_strict);
void ask_for_json_object(FieldReader& reader, const JsonCursor& given);
/// Asks for free text in which marks begin values of a form; `given` is an object of marks, or a string with its text.
void ask_for_tag(FieldReader& reader, const JsonCursor& given);

namespace field {

void take_response_format(FieldReader& reader, const ApiField& field);

}  // namespace field

// The three tables of constraints. Every API reads them besides its own fields.

/// vLLM's fields of constraints, and `additional_properties`.
extern const FieldTable kConstraintFields;
/// The fields of constraints of llama.cpp, SGLang and TGI.
extern const FieldTable kGrammarFields;
/// The fields of constraints of OpenAI and ollama.
extern const FieldTable kFormatFields;

}  // namespace octavo
