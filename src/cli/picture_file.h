// Pictures that a person at a terminal shows to a model: files, also those that are dropped on the terminal.
//
// Free functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "octavo/chat.h"
#include "octavo/model_info.h"

namespace octavo::cli {

/// The bytes of a picture's file. Errors name it: it cannot be read, or is larger than the bounds say.
Result<PictureInput> read_picture(const std::string& path, const PictureBounds& bounds = {});
/// Error: the model reads text only; it begins with `asked`, the way in which the model was asked to see.
Result<void> check_sees(const ModelInfo& info, std::string_view asked);
/// A user's message with pictures before its text.
ChatMessage user_message(const std::string& text, std::span<const PictureInput> pictures);
/// The picture's file that a line names, where the line is what a terminal types when a file is dropped on it: a path,
/// in quotes or with backslashes before spaces. Nothing: it is another text, or there is no such file.
std::optional<std::string> dropped_picture(std::string_view line);

}  // namespace octavo::cli
