// Fields that say how an answer's reasoning is shown, and how much of it there may be.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "api/openai_request.h"

namespace octavo {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();

/// Names of one field: ours, llama.cpp's two, and vLLM's.
constexpr std::array<std::string_view, 4> kBudgetNames = {"reasoning_budget", "reasoning_budget_tokens",
                                                          "thinking_budget_tokens", "thinking_token_budget"};

std::optional<int> read_budget(JsonFields& fields) {
  std::optional<int> budget;
  std::string_view field;
  for (const std::string_view name : kBudgetNames) {
    const auto asked = fields.integer(name, -1, kMaxInt);
    if (!asked) continue;
    if (budget && *budget != *asked) {
      fields.refuse(
          invalid_value(std::string(name), fmt::format("{}: found {} beside {} {}, expected one of them: they "
                                                       "are the same",
                                                       name, *asked, field, *budget)));
      return budget;
    }
    budget = static_cast<int>(*asked);
    field = name;
  }
  return budget;
}

ReasoningMode read_mode(JsonFields& fields, ReasoningMode otherwise) {
  const auto format = fields.string("reasoning_format");
  if (!format) return otherwise;
  if (*format == "auto" || *format == "deepseek") return ReasoningMode::kSplit;
  if (*format != "none")
    fields.refuse(invalid_value("reasoning_format",
                                fmt::format("reasoning_format: found {}, expected \"auto\", \"deepseek\" or \"none\"",
                                            describe_json(boost::json::value(*format)))));
  return ReasoningMode::kLeftIn;
}

}  // namespace

void read_reasoning(JsonFields& fields, const Engine& engine, const ServedModel& model, CompletionCall& call,
                    Request& request) {
  const ReasoningMode mode = read_mode(fields, model.reasoning_mode);
  const std::optional<int> budget = read_budget(fields);
  const bool is_asked_for = fields.find("include_reasoning") != nullptr;
  const bool is_shown = fields.boolean("include_reasoning", true);
  if (engine.info().reasoning.empty()) return;  // all of its answers is content
  request.reasoning = {.mode = mode, .budget = budget.value_or(model.reasoning_budget)};
  call.reasoning = {.is_counted = true, .is_shown = is_shown, .has_both_names = is_asked_for && is_shown};
}

void refuse_reasoning(JsonFields& fields) {
  const std::optional<int> budget = read_budget(fields);
  if (!budget || *budget == -1) return;
  for (const std::string_view name : kBudgetNames)
    if (fields.find(name) != nullptr)
      fields.refuse(
          unsupported(std::string(name), fmt::format("{}: found {}, expected none: a completion is not looked "
                                                     "at for reasoning, a chat is",
                                                     name, *budget)));
}

}  // namespace octavo
