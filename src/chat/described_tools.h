// Tools as a text of the system message, for chat templates that have no place for them. Free functions; any thread.
#pragma once

#include <vector>

#include "octavo/chat.h"
#include "octavo/result.h"
#include "template/template.h"
#include "toolcalls/tool_format.h"

namespace octavo {

/// tools_text.jinja for a list of tools and the form of their calls. The tools' own texts are of Origin::kTool, the
/// rest of Origin::kTemplate. Errors: values that are nested too deep, or too many.
Result<std::vector<jinja::RenderedSpan>> describe_tools(const TemplateValue& tools, const ToolFormat& format);

}  // namespace octavo
