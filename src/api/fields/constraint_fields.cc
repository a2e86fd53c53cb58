#include "api/fields/constraint_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "api/call/completion.h"
#include "api/call/tool_constraint.h"
#include "api/fields/response_format.h"
#include "api/fields/structural_tag.h"
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

/// Takes a schema in the form of vLLM and llama.cpp: a JSON value, or a string with its text.
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

void take_structural_tag(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given()) ask_for_tag(reader, given);
}

/// Takes `grammar`: a string as in llama.cpp, or an object with a type and a value as in TGI.
void take_grammar(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.if_object() != nullptr) return read_format(reader, given);
  take_text<ConstraintKind::kGrammar>(reader, field);
}

/// Takes ollama's `format`: "json", or a schema.
void take_format(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given() || *given.value() == "") return;
  if (*given.value() == "json") return ask_for_json_object(reader, given);
  if (given.if_object() == nullptr) return reader.refuse(given.wrong_type("\"json\" or a schema (an object)"));
  ask_for_schema(reader, given, false);
}

constexpr std::string_view kOutputMembers[] = {"json", "regex", "choice", "grammar", "json_object", "structural_tag"};
/// Members of structured_outputs that are no constraint, or that a row below refuses.
constexpr std::string_view kOutputSettings[] = {
    "disable_fallback", "disable_any_whitespace", "disable_additional_properties", "whitespace_pattern", "backend",
    "_backend",         "_backend_was_auto"};

/// Refuses unknown members: one that nobody reads might be a constraint, which would not hold.
void check_outputs(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::object* members = reader.take(given.object());
  if (members == nullptr) return;
  for (const json::key_value_pair& member : *members) {
    const std::string_view name = member.key();
    const bool is_known = std::ranges::find(kOutputMembers, name) != std::end(kOutputMembers) ||
                          std::ranges::find(kOutputSettings, name) != std::end(kOutputSettings);
    if (!is_known && !member.value().is_null())
      return reader.refuse(
          given[name].error(fmt::format("found an unknown member, expected one of {}", fmt::join(kOutputMembers, ", ")),
                            "unsupported_parameter"));
  }
}

void take_closed_objects(FieldReader& reader, const ApiField& field) {
  if (reader.take(reader.at(field.path).boolean()).value_or(false)) reader.request.closes_objects = true;
}

void take_additional_properties(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto reading = reader.take(given.string());
  if (!reading) return;
  if (*reading != "closed" && *reading != "as_written")
    reader.refuse(given.wrong_value("\"closed\" or \"as_written\""));
  reader.request.closes_objects = *reading == "closed";
}

bool forms_an_answer(std::string_view name);

/// Warns of an object that clients should merge into the body, and refuses a constraint in it, which would not hold.
void warn_of_inner_body(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::object* members = reader.take(given.object());
  if (members == nullptr || members->empty()) return;
  for (const json::key_value_pair& member : *members)
    if (forms_an_answer(member.key()) && !member.value().is_null())
      return reader.refuse(given[member.key()].error("found it in an inner object, expected it in the body itself",
                                                     "unsupported_parameter"));
  reader.request.warnings.push_back(fmt::format("{}: it is ignored: {}", field.path, field.text));
}

constexpr std::string_view kWhiteSpace = "white space between values has a form of its own here, which is bounded";

constexpr ApiField kConstraintRows[] = {
    field::object("structured_outputs", "", "vLLM's object, with one of the members below", check_outputs),
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
    field::boolean("structured_outputs.disable_additional_properties", "the server's",
                   "true: as `closed` in `additional_properties`", take_closed_objects),
    field::hint("structured_outputs.disable_fallback", "there is one way to hold a form"),
    field::hint("guided_decoding_backend", "there is one way to hold a form"),
    field::refused("structured_outputs.disable_any_whitespace", kWhiteSpace),
    field::refused("structured_outputs.whitespace_pattern", kWhiteSpace),
    field::refused("guided_whitespace_pattern", kWhiteSpace),
    field::refused("guided_decoding", "this server does not support this form of structured output"),
    field::refused("guided_options", "this server does not support this form of structured output"),
    field::ignored(field::object("extra_body", "", "its members belong into the body itself", warn_of_inner_body)),
    field::ignored(field::object("sampling_params", "", "its members belong into the body itself", warn_of_inner_body)),
    field::string("additional_properties", "the server's",
                  "members of objects that a schema does not name and says nothing of: `closed`: there are none; "
                  "`as_written`: any",
                  take_additional_properties),
};

constexpr ApiField kGrammarRows[] = {
    field::string_or_object("grammar", "", "a grammar (GBNF) of the answer, or TGI's object of a `type` and a `value`",
                            take_grammar),
    field::any("json_schema", "", "a JSON schema of the answer, or its text", take_schema),
    field::string("regex", "", "SGLang's name of `guided_regex`", take_text<ConstraintKind::kRegex>),
    field::string("ebnf", "", "SGLang's name of `guided_grammar`", take_text<ConstraintKind::kGrammar>),
    field::string_or_object("structural_tag", "", "SGLang's name of `structured_outputs.structural_tag`",
                            take_structural_tag),
    field::object("parameters", "", "TGI's object, of which `grammar` is read", check_object),
    field::string_or_object("parameters.grammar", "", "as `grammar`", take_grammar),
    field::refused("grammar_lazy", "a grammar holds from the answer's first token on here"),
};

constexpr ApiField kFormatRows[] = {
    field::object("response_format", "{\"type\": \"text\"}",
                  "the form of the answer, by its `type`: `text`; `json_object`, with a `schema` or without; "
                  "`json_schema` or `json`, with a schema; `regex`; `grammar`; `structural_tag`",
                  field::take_response_format),
    field::any("format", "", "ollama's: `json`, or a schema", take_format),
};

bool forms_an_answer(std::string_view name) {
  for (const FieldTable rows : {kConstraintFields, kGrammarFields, kFormatFields})
    for (const ApiField& row : rows)
      if (row.path.substr(0, row.path.find('.')) == name && row.use == FieldUse::kHonoured) return true;
  return false;
}

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
  const json::string* text = given.if_string();
  if (text == nullptr && !given.value()->is_object() && !given.value()->is_bool())
    return reader.refuse(given.wrong_type("a JSON schema"));
  if (text != nullptr && text->empty())
    return reader.refuse(given.error("found an empty text, expected a JSON schema"));
  ask_for(reader, given.path(),
          {.kind = ConstraintKind::kJsonSchema, .text = text_of_schema(*given.value()), .is_strict = is_strict}, true);
}

void ask_for_json_object(FieldReader& reader, const JsonCursor& given) {
  ask_for(reader, given.path(), {.kind = ConstraintKind::kJsonObject}, true);
}

void ask_for_tag(FieldReader& reader, const JsonCursor& given) {
  const json::string* text = given.if_string();
  const JsonResult<json::object> parsed =
      text == nullptr ? JsonResult<json::object>() : parse_json_object(*text, JsonLimits());
  const json::object* tag = text == nullptr ? given.if_object() : parsed ? &*parsed : nullptr;
  if (tag == nullptr) return reader.refuse(given.wrong_type("an object of structures and triggers, or its text"));
  const ModelText& words = reader.context.words;
  const std::string path = given.path();
  auto source =
      structural_tag(JsonCursor(*tag, path), [&words](std::string_view mark) { return token_of(mark, words); });
  if (!source) return reader.refuse(std::move(source.error()));
  ask_for(reader, given.path(), std::move(*source));
}

namespace field {

void take_response_format(FieldReader& reader, const ApiField& field) { read_format(reader, reader.at(field.path)); }

}  // namespace field

const FieldTable kConstraintFields = kConstraintRows;
const FieldTable kGrammarFields = kGrammarRows;
const FieldTable kFormatFields = kFormatRows;

}  // namespace octavo
