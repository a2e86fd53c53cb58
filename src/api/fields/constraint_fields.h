// The fields that say what an answer's text must look like: OpenAI's response_format, vLLM's guided_* and
// structured_outputs, llama.cpp's grammar and json_schema, ollama's format, and how other APIs ask for a schema.
//
// Constants, and free functions without state; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

/// Keeps the constraint of a request: there can be one.
void ask_for(FieldReader& reader, std::string field, ConstraintSource source, bool is_of_content = false);
/// Asks for an answer that is a JSON text of the schema that is given, or of the schema in that text. Error: the schema
/// is no object, no boolean and no text.
void ask_for_schema(FieldReader& reader, const JsonCursor& given, bool is_strict);
void ask_for_json_object(FieldReader& reader, const JsonCursor& given);
/// Asks for free text in which marks open values of a form: an object of marks, or the text of one.
void ask_for_tag(FieldReader& reader, const JsonCursor& given);

namespace field {

void take_response_format(FieldReader& reader, const ApiField& field);

}  // namespace field

// Every API takes the three tables beside its own fields.

/// vLLM's fields, and `additional_properties`.
extern const FieldTable kConstraintFields;
/// llama.cpp's, SGLang's and TGI's.
extern const FieldTable kGrammarFields;
/// OpenAI's, and ollama's.
extern const FieldTable kFormatFields;

}  // namespace octavo
