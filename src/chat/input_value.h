// A TemplateValue as a value that a chat template is rendered with. Free functions; any thread.
#pragma once

#include <cstddef>

#include "octavo/chat.h"
#include "octavo/result.h"
#include "template/template_input.h"

namespace octavo {

/// The most values of a conversation's calls, tools and names.
inline constexpr std::size_t kMaxInputValues = std::size_t{1} << 17;

/// Builds the value in `input`; its texts have one origin. `values_left` shrinks by its values. Errors: nesting deeper
/// than kMaxJsonDepth, or more values than are left.
Result<jinja::Value> input_value(jinja::TemplateInput& input, const TemplateValue& value, jinja::Origin origin,
                                 std::size_t& values_left);

}  // namespace octavo
