// The end of a prompt that goes on with its last message. Free functions; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "octavo/result.h"
#include "template/template.h"

namespace octavo {

/// Cuts a rendered text at the last kContinueMark, as transformers does (`continue_final_message`): what the template
/// writes behind the message goes, and spaces before the mark too if the template has stripped the message. Error: the
/// mark, or `message`, is not in the text.
Result<void> cut_at_continue_mark(std::vector<jinja::RenderedSpan>& spans, std::string_view message);

}  // namespace octavo
