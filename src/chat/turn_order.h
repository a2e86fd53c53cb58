// The order of turns that a template wants (template_caps.h): what is missing between them is put there.
//
// Some templates refuse a conversation unless users and assistants take turns, and each counts other messages: all of
// them, or neither calls of tools nor their results. Between two turns of one side stands one without a text then, so
// that no message is left out, joined to one that it does not belong to, or moved. Free functions; any thread.
#pragma once

#include <vector>

#include "chat/conversation.h"

namespace octavo {

/// Puts turns with the least text that the template takes where it counts one, and gives that text to answers without
/// any, but for the last one where `is_continued`.
void mend_order(std::vector<ShapedMessage>& turns, const TemplateCaps& caps, bool is_continued);

}  // namespace octavo
