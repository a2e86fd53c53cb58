// Errors that are found when a prompt with pictures is made, as errors of the fields that the pictures came by.
//
// Free functions without state; any thread.
#pragma once

#include <span>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/chat.h"

namespace octavo {

bool is_of_picture(const Error& error);
/// The error of a picture in these parts, or in these messages. Its field is the picture's place, with which the
/// message begins, else `otherwise`.
ApiError picture_error(const Error& error, std::span<const ContentPart> parts, std::string_view otherwise);
ApiError picture_error(const Error& error, std::span<const ChatMessage> messages, std::string_view otherwise);

}  // namespace octavo
