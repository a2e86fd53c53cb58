// Errors of pictures, found while a prompt is made of them, as those of the fields that they came by.
//
// Free functions without state; any thread.
#pragma once

#include <span>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/chat.h"

namespace octavo {

bool is_of_picture(const Error& error);
/// The error of a picture of these parts, or of these messages. Its field is the place that its message begins with, or
/// `otherwise`.
ApiError picture_error(const Error& error, std::span<const ContentPart> parts, std::string_view otherwise);
ApiError picture_error(const Error& error, std::span<const ChatMessage> messages, std::string_view otherwise);

}  // namespace octavo
