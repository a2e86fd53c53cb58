// A TemplateValue as a value that a chat template is rendered with. Free functions; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "octavo/chat.h"
#include "octavo/result.h"
#include "template/values/template_input.h"

namespace octavo {

/// The most values of a conversation's calls, tools and names.
inline constexpr std::size_t kMaxInputValues = std::size_t{1} << 17;

/// Builds the value in `input`; its texts have one origin. `values_left` shrinks by its values. Errors: nesting deeper
/// than kMaxJsonDepth, or more values than are left.
Result<jinja::Value> input_value(jinja::TemplateInput& input, const TemplateValue& value, jinja::Origin origin,
                                 std::size_t& values_left);

/// The member under which arguments that are no JSON object stand in one.
inline constexpr std::string_view kWholeArguments = "arguments";

/// The arguments of a call as a dict, for a form that takes them apart. A text that is no JSON object, such as a call
/// that was cut has, is the one member of a dict. `values_left` shrinks by what was read.
TemplateDict arguments_dict(const TemplateValue& arguments, std::size_t& values_left);

}  // namespace octavo
