#include "api/constraint_fields.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "api/completion.h"
#include "api/structural_tag.h"
#include "api/tool_constraint.h"
#include "json/json_document.h"

namespace octavo {
namespace {

namespace json = boost::json;

std::string text_of_schema(const json::value& schema) {
  const json::string* text = schema.if_string();
  return text != nullptr ? std::string(*text) : json::serialize(schema);
}

template <ConstraintKind kKind>
void take_text(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto text = reader.take(given.string());
  if (text && !text->empty()) ask_for(reader, given.path(), {.kind = kKind, .text = std::string(*text)});
}

void take_choices(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* array = reader.take(given.array("an array of strings"));
  if (array == nullptr || array->empty()) return;
  ConstraintSource source{.kind = ConstraintKind::kChoice};
  for (std::size_t i = 0; i < array->size(); ++i) {
    const json::string* choice = (*array)[i].if_string();
    if (choice == nullptr) return reader.refuse(given[i].wrong_type("a string"));
    source.choices.emplace_back(*choice);
  }
  ask_for(reader, given.path(), std::move(source));
}

/// A schema as vLLM and llama.cpp take it: a value, or the text of one.
void take_schema(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  const json::string* text = given.if_string();
  if (text == nullptr && !given.value()->is_object() && !given.value()->is_bool())
    return reader.refuse(given.wrong_type("a JSON schema, or its text"));
  if (text == nullptr || !text->empty())
    ask_for(reader, given.path(), {.kind = ConstraintKind::kJsonSchema, .text = text_of_schema(*given.value())});
}

void take_json_object(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (reader.take(given.boolean()).value_or(false))
    ask_for(reader, given.path(), {.kind = ConstraintKind::kJsonObject});
}

/// An object, or the text of one.
void ask_for_tag(FieldReader& reader, const JsonCursor& given) {
  const json::string* text = given.if_string();
  const JsonResult<json::object> parsed =
      text == nullptr ? JsonResult<json::object>() : parse_json_object(*text, JsonLimits());
  const json::object* tag = text == nullptr ? given.if_object() : parsed ? &*parsed : nullptr;
  if (tag == nullptr) return reader.refuse(given.wrong_type("an object of structures and triggers, or its text"));
  const Engine& engine = reader.context.engine;
  const std::string path = given.path();
  auto source =
      structural_tag(JsonCursor(*tag, path), [&engine](std::string_view mark) { return token_of(mark, engine); });
  if (!source) return reader.refuse(std::move(source.error()));
  ask_for(reader, given.path(), std::move(*source));
}

void take_structural_tag(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given()) ask_for_tag(reader, given);
}

/// OpenAI's schema with a name, which is not used, and how strictly it is meant.
void take_named_schema(FieldReader& reader, const JsonCursor& named) {
  reader.take(named.object());
  if (!named.is_given())
    return reader.refuse(named.wrong_value("an object with a schema", "missing_required_parameter"));
  const JsonCursor schema = named["schema"];
  const bool is_strict = reader.take(named["strict"].boolean()).value_or(false);
  if (!schema.is_given()) return reader.refuse(schema.wrong_value("a JSON schema", "missing_required_parameter"));
  ask_for_schema(reader, schema, is_strict);
}

void take_additional_properties(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto reading = reader.take(given.string());
  if (!reading) return;
  if (*reading != "closed" && *reading != "as_written")
    reader.refuse(given.wrong_value("\"closed\" or \"as_written\""));
  reader.request.closes_objects = *reading == "closed";
}

constexpr ApiField kConstraintRows[] = {
    field::object("structured_outputs", "", "vLLM's object, with one of the members below", check_object),
    field::string_or_object("structured_outputs.structural_tag", "",
                            "free text in which marks open values of a form, or the text of such an object",
                            take_structural_tag),
    field::boolean("structured_outputs.json_object", "false", "the answer is a JSON object", take_json_object),
    field::string("structured_outputs.regex", "", "a regular expression that the answer matches",
                  take_text<ConstraintKind::kRegex>),
    field::string("structured_outputs.grammar", "", "a grammar (GBNF) of the answer",
                  take_text<ConstraintKind::kGrammar>),
    field::strings("structured_outputs.choice", "", "texts of which the answer is one", take_choices),
    field::any("structured_outputs.json", "", "a JSON schema of the answer, or its text", take_schema),
    field::string("guided_regex", "", "a regular expression that the answer matches",
                  take_text<ConstraintKind::kRegex>),
    field::string("guided_grammar", "", "a grammar (GBNF) of the answer", take_text<ConstraintKind::kGrammar>),
    field::strings("guided_choice", "", "texts of which the answer is one", take_choices),
    field::any("guided_json", "", "a JSON schema of the answer, or its text", take_schema),
    field::string("additional_properties", "the server's",
                  "members of objects that a schema does not name and says nothing of: `closed`: there are none; "
                  "`as_written`: any",
                  take_additional_properties),
};

constexpr ApiField kGrammarRows[] = {
    field::string("grammar", "", "a grammar (GBNF) of the answer", take_text<ConstraintKind::kGrammar>),
    field::any("json_schema", "", "a JSON schema of the answer, or its text", take_schema),
    field::string("regex", "", "SGLang's name of `guided_regex`", take_text<ConstraintKind::kRegex>),
    field::string("ebnf", "", "SGLang's name of `guided_grammar`", take_text<ConstraintKind::kGrammar>),
    field::string_or_object("structural_tag", "", "SGLang's name of `structured_outputs.structural_tag`",
                            take_structural_tag),
};

}  // namespace

void ask_for(FieldReader& reader, std::string field, ConstraintSource source, bool is_of_content) {
  std::optional<AskedConstraint>& asked = reader.request.constraint;
  if (asked) {
    reader.refuse(invalid_value(
        field, fmt::format("{}: found beside {}, expected one constraint of an answer", field, asked->field)));
  }
  asked = AskedConstraint{.field = std::move(field), .source = std::move(source), .is_of_content = is_of_content};
}

void ask_for_schema(FieldReader& reader, const JsonCursor& given, bool is_strict) {
  if (!given.value()->is_object() && !given.value()->is_bool()) return reader.refuse(given.wrong_type("a JSON schema"));
  ask_for(reader, given.path(),
          {.kind = ConstraintKind::kJsonSchema, .text = text_of_schema(*given.value()), .is_strict = is_strict}, true);
}

void ask_for_json_object(FieldReader& reader, const JsonCursor& given) {
  ask_for(reader, given.path(), {.kind = ConstraintKind::kJsonObject}, true);
}

namespace field {

void take_response_format(FieldReader& reader, const ApiField& field) {
  const JsonCursor format = reader.at(field.path);
  if (reader.take(format.object()) == nullptr) return;
  const auto type = reader.take(format["type"].string());
  if (reader.failed() || type == "text") return;
  if (type == "json_object") return ask_for_json_object(reader, format);
  if (type == "json_schema") return take_named_schema(reader, format["json_schema"]);
  if (type == "structural_tag") return ask_for_tag(reader, format);
  const std::string found = type ? fmt::format("the type \"{}\"", *type) : "no type";
  reader.refuse(format.error(fmt::format("found {}, expected the type \"text\", \"json_object\", \"json_schema\" or "
                                         "\"structural_tag\"",
                                         found),
                             "unsupported_parameter"));
}

}  // namespace field

const FieldTable kConstraintFields = kConstraintRows;
const FieldTable kGrammarFields = kGrammarRows;

}  // namespace octavo
