// The prompt of a gap in the middle of a text, as models that fill such gaps were trained to read it:
//
//     BOS? repository NAME (file NAME TEXT)* file NAME prefix PREFIX suffix SUFFIX middle
//
// Free function; any thread.
#pragma once

#include "base/error.h"
#include "chat/chat_tokenizer.h"
#include "octavo/model_text.h"

namespace octavo {

/// The prompt of a gap; text is never parsed for special tokens. Other files are left out from the first one on, until
/// the prompt has at most `max_tokens`. Errors: the model has no marks (kNoWords); the text around the gap alone has
/// more tokens (kContextOverflow).
Result<InfillPrompt> make_infill_prompt(const ChatTokenizer& chat, const InfillText& text, std::size_t max_tokens);

}  // namespace octavo
