#include "api/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/json_fields.h"

namespace octavo {
namespace {

/// The error names the schema where that is one of several; else the field that asks for the constraint.
ApiError not_compiled(const AskedConstraint& asked, const std::string& message) {
  const auto is_named = [&](const ConstraintRule& rule) {
    return !rule.origin.empty() && message.starts_with(rule.origin + ": ");
  };
  const auto rule = std::ranges::find_if(asked.source.rules, is_named);
  if (rule != asked.source.rules.end()) return invalid_value(rule->origin, message);
  return invalid_value(asked.field, fmt::format("{}: {}", asked.field, message));
}

}  // namespace

ApiError model_not_served(std::string_view name, const ServedModel& model) {
  return {.status = 404,
          .message = fmt::format("model: found {}, expected {}: no other model is served here",
                                 describe_json(boost::json::value(name)), describe_json(boost::json::value(model.id))),
          .param = "model",
          .code = "model_not_found"};
}

ApiResult<void> compile_constraints(CompletionCall& call, const Engine& engine, const std::stop_token& stop) {
  std::shared_ptr<const Constraint> last;
  for (AskedConstraint& asked : call.constraints) {
    asked.source.closes_objects = call.closes_objects;
    auto compiled = engine.compile_constraint(asked.source, stop);
    if (!compiled) return std::unexpected(not_compiled(asked, compiled.error().message));
    last = std::move(*compiled);
  }
  call.constraints.clear();
  if (last == nullptr) return {};
  call.warnings.insert(call.warnings.begin(), last->warnings().begin(), last->warnings().end());
  for (Request& request : call.requests) request.constraint = last;
  return {};
}

}  // namespace octavo
