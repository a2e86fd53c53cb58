// Texts with pictures in them, as clients of llama.cpp send them to its routes that know no messages.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// Free functions without state; any thread.
#pragma once

#include <string_view>

#include "api/call/api_error.h"
#include "api/call/api_request.h"
#include "api/call/picture_parts.h"
#include "json/json_cursor.h"

namespace octavo {

/// The mark that stands for a picture in a text; /props has it as `media_marker`.
inline constexpr std::string_view kMediaMarker = "<__media__>";

/// Reads `{"prompt_string": TEXT, "multimodal_data": [BASE64, ...]}`, where each mark in the text stands for the next
/// picture, or `{"content": [PART, ...]}` with the parts of a chat's message. Errors: more or fewer marks than
/// pictures; those of PictureReader::decode(); parts of other kinds; a picture where the model sees nothing.
ApiResult<PictureText> read_picture_text(const JsonCursor& given, PictureReader& pictures);

/// Reads a text in which [img-ID] stands for a picture of `images`, `[{"data": BASE64, "id": ID}, ...]`, any number of
/// times. Errors: an id in the text that the list does not have, or the other way round; an id that the list has twice;
/// those of read_picture_text().
ApiResult<PictureText> read_numbered_pictures(std::string_view text, const JsonCursor& images, PictureReader& pictures);

}  // namespace octavo
