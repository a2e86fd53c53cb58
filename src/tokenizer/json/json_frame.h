// The tokens around a text, and around two, as the post_processor of a tokenizer.json gives them. A free function; any
// thread.
#pragma once

#include "json/json_cursor.h"
#include "tokenizer/text/text_frame.h"

namespace octavo {

/// Reads post_processor from the whole file `root`: TemplateProcessing, BertProcessing, RobertaProcessing, or
/// ByteLevel, which only changes offsets. A template for two texts that do not follow each other gives no pair. Error:
/// another kind, or a template that is wrong.
JsonResult<TextFrame> read_json_frame(const JsonCursor& root);

}  // namespace octavo
