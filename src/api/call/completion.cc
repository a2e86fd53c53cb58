#include "api/call/completion.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "api/call/custom_tools.h"
#include "api/call/text.h"
#include "json/json_cursor.h"

namespace octavo {
namespace {

/// The place that a JSON pointer names, seen from `place`: from "tools[0].parameters", the pointer "/anyOf/1" names
/// "tools[0].parameters.anyOf[1]".
std::string place_in(std::string_view place, std::string_view pointer) {
  std::string path(place);
  bool is_list = false;  // the part before this one is a list, and no object whose names the client chose
  while (!pointer.empty()) {
    const std::size_t end = pointer.find('/', 1);
    std::string part(pointer.substr(1, end - 1));
    pointer.remove_prefix(std::min(end, pointer.size()));
    for (const auto& [escape, character] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}})
      for (std::size_t at = part.find(escape); at != std::string::npos; at = part.find(escape, at + 1))
        part.replace(at, 2, character);
    const bool is_index = is_list && part.find_first_not_of("0123456789") == std::string::npos;
    path += is_index ? fmt::format("[{}]", part) : fmt::format(".{}", part);
    constexpr std::array kLists = {"allOf", "anyOf", "enum", "items", "oneOf", "prefixItems", "required", "type"};
    is_list = std::ranges::find(kLists, part) != kLists.end();
  }
  return path;
}

/// A message of the constraint compiler, with the place in the client's words.
struct CompilerNote {
  std::string place = {};
  std::string text = {};  // the whole message, which begins with the place
};

/// The message with its place: where the compiler names a place in the schema, that one, else the field that asks for
/// the constraint. A schema that was made of a client's grammar has that grammar as its place.
CompilerNote note_of(const AskedConstraint& asked, std::string_view message) {
  std::string place = asked.field;
  for (const ConstraintRule& rule : asked.source.rules) {
    if (rule.origin.empty() || !message.starts_with(rule.origin + ": ")) continue;
    place = rule.origin;
    message.remove_prefix(rule.origin.size() + 2);
    break;
  }
  const std::size_t end = message.find(": ");
  if (end != std::string_view::npos && (message.starts_with("#/") || message.starts_with("#: "))) {
    if (!place.ends_with(kGrammarDefinition)) place = place_in(place, message.substr(1, end - 1));
    message.remove_prefix(end + 2);
  }
  std::string text = fmt::format("{}: {}", place, message);
  return {.place = std::move(place), .text = std::move(text)};
}

}  // namespace

ServedModel ServedModel::of(const ModelInfo& info, std::string id, std::span<const std::string> given) {
  if (id.empty()) id = model_id(info);
  auto aliases = model_aliases(info, id, given);
  return {.id = std::move(id), .aliases = std::move(aliases), .fingerprint = info.fingerprint};
}

ApiError model_not_served(std::string_view name, const ServedModel& model) {
  return {.status = 404,
          .message = fmt::format("model: found {}, expected {}: no other model is served here",
                                 describe_json(boost::json::value(name)), describe_json(boost::json::value(model.id))),
          .param = "model",
          .code = "model_not_found"};
}

ApiResult<void> compile_constraint(CompletionCall& call, const ModelText& words, const std::stop_token& stop) {
  if (!call.constraint) return {};
  call.constraint->source.closes_objects = call.closes_objects;
  const auto compiled = words.compile_constraint(call.constraint->source, stop);
  if (!compiled) {
    CompilerNote note = note_of(*call.constraint, compiled.error().message);
    return std::unexpected(invalid_value(std::move(note.place), std::move(note.text)));
  }
  Warnings warnings;
  for (const std::string& warning : (*compiled)->warnings())
    warnings.push_back(note_of(*call.constraint, warning).text);
  warnings.append(call.warnings);
  call.warnings = std::move(warnings);
  for (Request& request : call.requests) request.constraint = *compiled;
  call.constraint.reset();
  return {};
}

}  // namespace octavo
