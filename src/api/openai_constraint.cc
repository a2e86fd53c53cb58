// Fields that say what an answer's text must look like: OpenAI's response_format, vLLM's guided_* and
// structured_outputs, llama.cpp's grammar and json_schema.
#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "api/openai_request.h"
#include "api/own_field_names.h"
#include "api/structural_tag.h"
#include "api/tool_constraint.h"
#include "json/json_document.h"

namespace octavo {
namespace {

namespace json = boost::json;

struct TextField {
  std::string_view name;
  ConstraintKind kind;
};
constexpr std::array kTextFields = {TextField{"guided_regex", ConstraintKind::kRegex},
                                    TextField{"guided_grammar", ConstraintKind::kGrammar},
                                    TextField{"grammar", ConstraintKind::kGrammar}};
constexpr std::array kInnerTextFields = {TextField{"regex", ConstraintKind::kRegex},
                                         TextField{"grammar", ConstraintKind::kGrammar}};

/// Keeps the one constraint of a request.
class ConstraintReader {
 public:
  explicit ConstraintReader(JsonFields& fields) : fields_(fields) {}

  void add(std::string field, ConstraintSource source) {
    if (asked_) {
      fields_.refuse(invalid_value(
          field, fmt::format("{}: found beside {}, expected one constraint of an answer", field, asked_->field)));
    }
    asked_ = AskedConstraint{.field = std::move(field), .source = std::move(source)};
  }
  void read_texts(JsonFields& from, std::span<const TextField> names) {
    for (const auto& [name, kind] : names)
      if (const auto text = from.string(name); text && !text->empty())
        add(from.path_of(name), {.kind = kind, .text = std::string(*text)});
  }
  void read_choices(JsonFields& from, std::string_view name) {
    const json::value* value = from.find(name);
    if (value == nullptr) return;
    const json::array* array = value->if_array();
    if (array == nullptr) return from.refuse(invalid_type(from.path_of(name), "an array of strings", *value));
    if (array->empty()) return;
    ConstraintSource source{.kind = ConstraintKind::kChoice};
    for (std::size_t i = 0; i < array->size(); ++i) {
      const json::string* choice = (*array)[i].if_string();
      if (choice == nullptr)
        return from.refuse(invalid_type(fmt::format("{}[{}]", from.path_of(name), i), "a string", (*array)[i]));
      source.choices.emplace_back(*choice);
    }
    add(from.path_of(name), std::move(source));
  }
  /// A schema as vLLM and llama.cpp take it: a value, or the text of one.
  void read_schema(JsonFields& from, std::string_view name) {
    const json::value* value = from.find(name);
    if (value == nullptr) return;
    const json::string* text = value->if_string();
    if (text == nullptr && !value->is_object() && !value->is_bool())
      return from.refuse(invalid_type(from.path_of(name), "a JSON schema, or its text", *value));
    if (text != nullptr && text->empty()) return;
    add(from.path_of(name), schema_source(*value, false));
  }
  static ConstraintSource schema_source(const json::value& schema, bool is_strict) {
    const json::string* text = schema.if_string();
    return {.kind = ConstraintKind::kJsonSchema,
            .text = text != nullptr ? std::string(*text) : json::serialize(schema),
            .is_strict = is_strict};
  }
  /// An object, or the text of one.
  void read_structural_tag(const json::value& value, const std::string& field, const Engine& engine) {
    const json::string* text = value.if_string();
    const JsonResult<json::object> parsed =
        text == nullptr ? JsonResult<json::object>() : parse_json_object(*text, JsonLimits());
    const json::object* tag = text == nullptr ? value.if_object() : parsed ? &*parsed : nullptr;
    if (tag == nullptr)
      return fields_.refuse(invalid_type(field, "an object of structures and triggers, or its text", value));
    auto source = structural_tag(*tag, field, [&engine](std::string_view mark) { return token_of(mark, engine); });
    if (!source) return fields_.refuse(std::move(source.error()));
    add(field, std::move(*source));
  }
  std::optional<AskedConstraint> take() { return std::exchange(asked_, std::nullopt); }

 private:
  JsonFields& fields_;
  std::optional<AskedConstraint> asked_;
};

/// OpenAI's schema with a name, which is not used, and how strictly it is meant.
void read_named_schema(JsonFields& fields, const JsonCursor& named, ConstraintReader& reader) {
  if (const auto given = named.object(); !given) return fields.refuse(given.error());
  if (!named.is_given())
    return fields.refuse(named.wrong_value("an object with a schema", "missing_required_parameter"));
  const JsonCursor schema = named["schema"];
  const auto is_strict = named["strict"].boolean();
  if (!is_strict) return fields.refuse(is_strict.error());
  const json::value* value = schema.value();
  if (value == nullptr) return fields.refuse(schema.wrong_value("a JSON schema", "missing_required_parameter"));
  if (!value->is_object() && !value->is_bool()) return fields.refuse(schema.wrong_type("a JSON schema"));
  reader.add("response_format.json_schema.schema", ConstraintReader::schema_source(*value, is_strict->value_or(false)));
}

void read_response_format(JsonFields& fields, const Engine& engine, ConstraintReader& reader) {
  const JsonCursor format = fields["response_format"];
  if (fields.take(format.object()) == nullptr) return;
  const auto read = format["type"].string();
  if (!read) return fields.refuse(read.error());
  const auto type = *read;
  if (type && *type == "text") return;
  if (type && *type == "json_object") return reader.add("response_format", {.kind = ConstraintKind::kJsonObject});
  if (type && *type == "json_schema") return read_named_schema(fields, format["json_schema"], reader);
  if (type && *type == "structural_tag") return reader.read_structural_tag(*format.value(), "response_format", engine);
  const std::string found = type ? fmt::format("the type \"{}\"", *type) : "no type";
  fields.refuse(unsupported(
      "response_format",
      fmt::format("response_format: found {}, expected the type \"text\", \"json_object\", \"json_schema\" or "
                  "\"structural_tag\"",
                  found)));
}

/// vLLM's object of one constraint.
void read_structured_outputs(JsonFields& fields, const Engine& engine, ConstraintReader& reader) {
  const json::object* outputs = fields.object("structured_outputs");
  if (outputs == nullptr) return;
  JsonFields inner(*outputs, "structured_outputs");
  if (const json::value* tag = inner.find("structural_tag"))
    reader.read_structural_tag(*tag, inner.path_of("structural_tag"), engine);
  if (inner.boolean("json_object", false))
    reader.add("structured_outputs.json_object", {.kind = ConstraintKind::kJsonObject});
  reader.read_texts(inner, kInnerTextFields);
  reader.read_choices(inner, "choice");
  reader.read_schema(inner, "json");
  if (inner.failed()) fields.refuse(*inner.error());
}

/// Octavo's own field, of whatever form the schemas come in.
bool read_closes_objects(JsonFields& fields, const ServedModel& model) {
  static constexpr std::string_view kName = "additional_properties";
  const auto reading = fields.string(kName);
  if (!reading) return model.closes_objects;
  if (*reading != "closed" && *reading != "as_written")
    fields.refuse(invalid_value(std::string(kName), fmt::format("{}: found {}, expected \"closed\" or \"as_written\"",
                                                                kName, describe_json(json::value(*reading)))));
  return *reading == "closed";
}

}  // namespace

void read_constraint(JsonFields& fields, const Engine& engine, const ServedModel& model, CompletionCall& call) {
  call.closes_objects = read_closes_objects(fields, model);
  ConstraintReader reader(fields);
  read_response_format(fields, engine, reader);
  read_structured_outputs(fields, engine, reader);
  reader.read_texts(fields, kTextFields);
  reader.read_choices(fields, "guided_choice");
  reader.read_schema(fields, "guided_json");
  reader.read_schema(fields, "json_schema");
  if (auto asked = reader.take()) call.constraints.push_back(std::move(*asked));
}

ApiResult<void> compile_constraints(CompletionCall& call, const Engine& engine, const std::stop_token& stop) {
  std::shared_ptr<const Constraint> last;
  for (AskedConstraint& asked : call.constraints) {
    asked.source.closes_objects = call.closes_objects;
    auto compiled = engine.compile_constraint(asked.source, stop);
    if (!compiled) {
      ApiError error = invalid_value(asked.field, asked.field + ": " + compiled.error().message);
      return std::unexpected(with_own_names(std::move(error), call.own_names));
    }
    last = std::move(*compiled);
  }
  call.constraints.clear();
  if (last == nullptr) return {};
  call.warnings.insert(call.warnings.begin(), last->warnings().begin(), last->warnings().end());
  for (Request& request : call.requests) request.constraint = last;
  return {};
}

}  // namespace octavo
