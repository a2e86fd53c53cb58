// The tokens around a text, and around two, as the post_processor of a tokenizer.json says. A free function; any
// thread.
#pragma once

#include "json/json_cursor.h"
#include "tokenizer/text/text_frame.h"

namespace octavo {

/// Reads post_processor of the whole file `root`: TemplateProcessing, BertProcessing, RobertaProcessing, and ByteLevel,
/// which changes offsets alone. A template for two texts that are not one behind the other gives no pair. Error:
/// another part, or a template that is wrong.
JsonResult<TextFrame> read_json_frame(const JsonCursor& root);

}  // namespace octavo
