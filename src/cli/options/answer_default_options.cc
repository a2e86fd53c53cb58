#include "cli/options/answer_default_options.h"

#include <string>
#include <utility>

#include "api/call/template_names.h"
#include "base/error.h"
#include "cli/options/options.h"
#include "cli/terminal/parse.h"
#include "json/json_document.h"

namespace octavo::cli {
namespace {

constexpr int kMaxTokens = 1 << 30;

void add_template_name_options(Command& command, TemplateDict& names) {
  const auto read = [](const std::string& text) -> Result<TemplateDict> {
    const auto object = parse_json_object(text, {});
    if (!object) return fail("found '{}', expected an object in JSON", text);
    TemplateDict given;
    if (const auto added = add_template_names(*object, "", given); !added) return fail("{}", added.error().message);
    return given;
  };
  const auto set_each = [&names](TemplateDict given) {
    for (auto& [name, value] : given) set_template_name(names, name, std::move(value));
  };
  add_parsed(
      command, "--chat-template-kwargs", "JSON", read, set_each,
      "An object of names for chat templates, such as '{\"enable_thinking\": false}', where a request gives none");
  add_parsed(
      command, "--reasoning-effort", "LEVEL", [](const std::string& effort) { return Result<std::string>(effort); },
      [&names](std::string effort) { set_template_name(names, "reasoning_effort", std::move(effort)); },
      "The same of the one name reasoning_effort: low, medium, high, or what the template knows")
      ->check(refuse_empty);
}

}  // namespace

void add_answer_default_options(Command& command, RequestPolicy& requests) {
  add_integer(command, "--max-tokens", requests.max_tokens, 1, kMaxTokens,
              "Of an answer, where the request names no limit; default: until the context ends");
  add_reasoning_budget_option(command, requests.reasoning_budget);
  add_reasoning_format_option(command, requests.reasoning_mode);
  add_template_name_options(command, requests.template_names);
  add_parsed(
      command, "--seed", "N", [](const std::string& text) { return parse_u64(text); },
      [&requests](std::uint64_t seed) { requests.seed = seed; },
      "Of requests that name none: the same request, the same answer; default: a random one each");
}

}  // namespace octavo::cli
