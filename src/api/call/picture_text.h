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

/// The mark in a text that stands for a picture, which /props tells as `media_marker`.
inline constexpr std::string_view kMediaMarker = "<__media__>";

/// `{"prompt_string": TEXT, "multimodal_data": [BASE64, ...]}`: each mark in the text stands for the next picture. Or
/// `{"content": [PART, ...]}` with the parts of a chat's message. Errors: more or fewer marks than pictures; those of
/// PictureReader::decode(); parts of other kinds; a picture where the model sees nothing.
ApiResult<PictureText> read_picture_text(const JsonCursor& given, PictureReader& pictures);

/// A text in which [img-ID] stands for a picture of `images`, `[{"data": BASE64, "id": ID}, ...]`, any number of times.
/// Errors: an id that the text has and the list has not, or the other way round, or the list has twice; as above.
ApiResult<PictureText> read_numbered_pictures(std::string_view text, const JsonCursor& images, PictureReader& pictures);

}  // namespace octavo
