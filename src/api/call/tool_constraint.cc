#include "api/call/tool_constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <set>

#include "api/call/api_error.h"
#include "toolcalls/call_grammar.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kAnyObject = R"({"type": "object"})";

/// The JSON pointer to a property's schema within the schema of the arguments.
std::string place_of(std::string_view property) {
  std::string place = "/properties/";
  for (const char c : property) {
    if (c == '~') {
      place += "~0";
    } else if (c == '/') {
      place += "~1";
    } else {
      place += c;
    }
  }
  return place;
}

/// Whether a property's schema has definitions of its own, which the schema of the arguments does not have.
bool has_own_definitions(const json::value& property, const json::object& root) {
  const json::object* object = property.if_object();
  if (object == nullptr) return false;
  return std::ranges::any_of(std::array{"$defs", "definitions"}, [&](std::string_view definitions) {
    return object->contains(definitions) && !root.contains(definitions);
  });
}

/// The strings of an enum or a const; empty: there is neither, or other values are among them.
std::vector<std::string> choices_of(const json::value& property) {
  const json::object* object = property.if_object();
  if (object == nullptr) return {};
  std::vector<std::string> choices;
  if (const json::value* only = object->if_contains("const"); only != nullptr && only->is_string())
    choices.emplace_back(only->get_string());
  const json::value* list = object->if_contains("enum");
  if (list == nullptr || !list->is_array()) return choices;
  for (const json::value& choice : list->get_array()) {
    if (!choice.is_string()) return {};
    choices.emplace_back(choice.get_string());
  }
  return choices;
}

std::string pattern_of(const json::value& property) {
  const json::object* object = property.if_object();
  const json::value* pattern = object == nullptr ? nullptr : object->if_contains("pattern");
  return pattern != nullptr && pattern->is_string() ? std::string(pattern->get_string()) : std::string();
}

std::vector<OfferedParameter> parameters_of(const json::object& schema, std::string_view tool, const ToolSet& tools) {
  std::vector<OfferedParameter> parameters;
  const json::value* properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return parameters;
  std::set<std::string_view> required;
  if (const json::value* names = schema.if_contains("required"); names != nullptr && names->is_array())
    for (const json::value& name : names->get_array())
      if (name.is_string()) required.insert(name.get_string());
  for (const json::key_value_pair& property : properties->get_object())
    parameters.push_back(
        {.name = std::string(property.key()),
         .place = place_of(property.key()),
         .schema = has_own_definitions(property.value(), schema) ? json::serialize(property.value()) : std::string(),
         .choices = choices_of(property.value()),
         .pattern = pattern_of(property.value()),
         .types = tools.types_of(tool, property.key()),
         .is_required = required.contains(property.key())});
  return parameters;
}

std::vector<OfferedTool> offered_tools(const AskedTools& asked, const ToolCalling& calling) {
  const bool has_parameters = calling.format->form.call.contains("$PARAMETERS");
  const ToolChoice& choice = asked.choice;
  std::vector<OfferedTool> offered;
  for (const AskedTool& tool : asked.tools) {
    if (!choice.only.empty() && tool.name != choice.only) continue;
    const bool has_schema = tool.parameters != nullptr;
    // A tool that is not strict, and need not be called, is held to the form of a call, not to its schema.
    const bool is_held =
        has_schema && (tool.is_strict || choice.mode == ToolChoice::Mode::kRequired || calling.format->always_held);
    offered.push_back({.name = tool.name,
                       .schema = has_schema ? json::serialize(*tool.parameters) : std::string(),
                       .origin = tool.origin,
                       .takes_any = !is_held,
                       .is_strict = tool.is_strict});
    if (has_schema && has_parameters)
      offered.back().parameters = parameters_of(*tool.parameters, tool.name, calling.tools);
  }
  return offered;
}

/// Sets the form of the content, where the request asks for one beside calls.
void set_content_form(const CompletionCall& call, CallGrammarOptions& options) {
  if (!call.constraint || !call.constraint->is_of_content) return;
  const ConstraintSource& source = call.constraint->source;
  options.content_schema = source.kind == ConstraintKind::kJsonSchema ? source.text : std::string(kAnyObject);
  options.content_origin = call.constraint->field;
  options.is_content_strict = source.is_strict;
}

}  // namespace

std::optional<TokenId> token_of(std::string_view text, const ModelText& words) {
  if (text.empty()) return std::nullopt;
  const auto tokens = words.tokenize(text, {.add_special = false, .parse_special = true});
  if (!tokens || tokens->size() != 1) return std::nullopt;
  return tokens->front();
}

ToolCallParser::Sure sure_of_calls(const AskedTools& asked, const ToolFormat& format, const CompletionCall& call) {
  using Sure = ToolCallParser::Sure;
  if (asked.choice.mode == ToolChoice::Mode::kRequired) return Sure::kAll;
  const bool is_held = format.always_held || std::ranges::any_of(asked.tools, &AskedTool::is_strict);
  return is_held && !call.constraint ? Sure::kOpened : Sure::kNothing;
}

ApiResult<void> hold_calls(const AskedTools& asked, const ModelText& words, CompletionCall& call) {
  const ToolCalling& calling = *call.tools;
  CallGrammarOptions options = {.must_call = asked.choice.mode == ToolChoice::Mode::kRequired,
                                .is_single = calling.is_single};
  set_content_form(call, options);
  const bool any_strict = std::ranges::any_of(asked.tools, &AskedTool::is_strict);
  const bool is_asked = options.must_call || any_strict || !options.content_schema.empty();
  if (!is_asked && (!calling.format->always_held || call.constraint)) return {};
  const std::string field(options.must_call                              ? asked.choice_field
                          : options.content_schema.empty() || any_strict ? asked.field
                                                                         : call.constraint->field);
  if (call.constraint && options.content_schema.empty()) {
    return std::unexpected(
        invalid_value(field, field + ": found calls that must have a form beside another form of the answer, expected "
                                     "one of them"));
  }
  const auto token = [&words](std::string_view text) { return token_of(text, words); };
  // The grammar of calls includes the form of the content.
  call.constraint = AskedConstraint{
      .field = field, .source = call_grammar(*calling.format, offered_tools(asked, calling), options, token)};
  return {};
}

}  // namespace octavo
