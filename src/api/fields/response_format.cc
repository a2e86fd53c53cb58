#include "api/fields/response_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "api/fields/constraint_fields.h"

namespace octavo {
namespace {

namespace json = boost::json;

enum class Form : std::uint8_t { kNone, kObject, kSchema, kRegex, kGrammar, kTag };

/// A type of format, and the members that may have the form of its answers.
struct FormatType {
  std::string_view name;
  Form form;
  std::array<std::string_view, 3> members = {};
};

constexpr FormatType kTypes[] = {
    {"text", Form::kNone},
    {"json_object", Form::kObject, {"schema", "json_schema", "value"}},
    {"json_schema", Form::kSchema, {"schema", "json_schema", "value"}},
    {"structural_tag", Form::kTag},
    {"json", Form::kSchema, {"value", "schema", "json_schema"}},
    {"regex", Form::kRegex, {"pattern", "regex", "value"}},
    {"grammar", Form::kGrammar, {"grammar", "value"}},
    {"ebnf", Form::kGrammar, {"ebnf", "grammar", "value"}},
};
constexpr std::string_view kFormMembers[] = {"schema", "json_schema", "value", "pattern",
                                             "regex",  "grammar",     "ebnf",  "structures"};

void refuse_type(FieldReader& reader, const JsonCursor& type) {
  std::vector<std::string_view> names;
  for (const FormatType& known : kTypes) names.push_back(known.name);
  reader.refuse(type.wrong_value(fmt::format("one of {}", fmt::join(names, ", ")), "unsupported_parameter"));
}

/// The member that has the form; nothing where none has. Error: there are two, or it belongs to another type.
std::optional<std::string_view> form_member(FieldReader& reader, const JsonCursor& format, const FormatType& type) {
  std::optional<std::string_view> found;
  for (const std::string_view name : kFormMembers) {
    if (type.form == Form::kTag || !format[name].is_given()) continue;
    if (std::ranges::find(type.members, name) == type.members.end()) {
      reader.refuse(
          format[name].error(fmt::format("found it beside the type \"{}\", which has no such form", type.name)));
    } else if (found) {
      reader.refuse(format[name].error(fmt::format("found it beside {}, expected one of them", format[*found].path())));
    } else {
      found = name;
    }
  }
  return found;
}

bool is_any_value(const json::value& schema) {
  return schema == true || (schema.is_object() && schema.get_object().empty());
}

/// Reads the schema in a member, or one level deeper, where it may have a name and a strictness.
void read_schema(FieldReader& reader, const JsonCursor& format, std::string_view member, const FormatType& type,
                 FormatReading reading) {
  const JsonCursor given = format[member];
  const bool is_named = member == "json_schema" || (member == "value" && type.name == "json_schema");
  if (is_named && reader.take(given.object()) == nullptr) return;
  const JsonCursor schema = is_named ? given["schema"] : given;
  const bool is_strict = reader.take((is_named ? given : format)["strict"].boolean()).value_or(reading.is_strict);
  if (!schema.is_given()) return reader.refuse(schema.wrong_value("a JSON schema", "missing_required_parameter"));
  if (type.form == Form::kObject && is_any_value(*schema.value())) return ask_for_json_object(reader, format);
  ask_for_schema(reader, schema, is_strict);
}

void read_text(FieldReader& reader, const JsonCursor& given, ConstraintKind kind) {
  const auto text = reader.take(given.string());
  if (text && text->empty()) reader.refuse(given.error("found an empty text, expected the form of the answer"));
  if (text && !reader.failed()) ask_for(reader, given.path(), {.kind = kind, .text = std::string(*text)});
}

}  // namespace

void read_format(FieldReader& reader, const JsonCursor& format, FormatReading reading) {
  if (reader.take(format.object()) == nullptr) return;
  const auto name = reader.take(format["type"].string());
  if (reader.failed()) return;
  const auto* const type = std::ranges::find(kTypes, name.value_or(""), &FormatType::name);
  if (type == std::end(kTypes)) return refuse_type(reader, format["type"]);
  const auto member = form_member(reader, format, *type);
  if (reader.failed() || type->form == Form::kNone) return;
  if (type->form == Form::kTag) return ask_for_tag(reader, format);
  if (!member && type->form == Form::kObject) return ask_for_json_object(reader, format);
  if (!member) {
    const bool is_named = type->name == "json_schema" && reading.schema_member == "json_schema";
    const JsonCursor missed = format[type->name == "json_schema" ? reading.schema_member : type->members.front()];
    return reader.refuse(missed.wrong_value(is_named                      ? "an object with a schema"
                                            : type->form == Form::kSchema ? "a JSON schema"
                                                                          : "the form of the answer (a string)",
                                            "missing_required_parameter"));
  }
  if (type->form == Form::kRegex) return read_text(reader, format[*member], ConstraintKind::kRegex);
  if (type->form == Form::kGrammar) return read_text(reader, format[*member], ConstraintKind::kGrammar);
  read_schema(reader, format, *member, *type, reading);
}

}  // namespace octavo
