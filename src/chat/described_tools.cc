#include "chat/described_tools.h"

#include <ctime>
#include <string>

#include "base/error.h"
#include "chat/input_value.h"
#include "chat/tools_text.h"
#include "chat/written_calls.h"

namespace octavo {
namespace {

using jinja::Origin;
using jinja::RenderedSpan;

/// A call in the format's form, with names such as <tool's name> in its places.
Result<std::vector<RenderedSpan>> form_of_a_call(const ToolFormat& format) {
  ToolCall call{.name = "<tool's name>", .arguments = std::string("<JSON object of its arguments>")};
  if (!has_json_arguments(format))
    call.arguments = TemplateDict{{"<parameter's name>", TemplateValue(std::string("<its value>"))}};
  return write_calls(format, std::span(&call, 1));
}

}  // namespace

Result<std::vector<RenderedSpan>> describe_tools(const TemplateValue& tools, const ToolFormat& format) {
  OCTAVO_TRY(const std::vector<RenderedSpan> form, form_of_a_call(format));
  std::vector<jinja::TextRun> call;
  call.reserve(form.size());
  for (const RenderedSpan& span : form) call.push_back({span.text, Origin::kTemplate});
  jinja::TemplateInput input;
  std::size_t values_left = kMaxInputValues;
  OCTAVO_TRY(const jinja::Value list, input_value(input, tools, Origin::kTool, values_left));
  input.set("tools", list);
  input.set("call", input.text(call));
  OCTAVO_TRY(const jinja::Template text, jinja::Template::compile(tools_text()));
  return text.render(input, std::tm{});
}

}  // namespace octavo
