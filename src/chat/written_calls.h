// Calls of tools as text, in the form of a family (tool_format.h): for templates that have no form for earlier calls.
// Free functions; any thread.
#pragma once

#include <span>
#include <vector>

#include "octavo/chat.h"
#include "octavo/result.h"
#include "template/template.h"
#include "toolcalls/tool_format.h"

namespace octavo {

/// Whether the arguments of a call are one JSON object, so that a model's own text can stand there as it is.
bool has_json_arguments(const ToolFormat& format);

/// The calls of a message in the form of an answer. Names and arguments are of Origin::kModel; the form's text around
/// them is of Origin::kTemplate, so that its marks may be control tokens. Where a form takes arguments apart, those
/// that are no JSON object are one of them (input_value.h).
Result<std::vector<jinja::RenderedSpan>> write_calls(const ToolFormat& format, std::span<const ToolCall> calls);

}  // namespace octavo
