#include "api/call/picture_errors.h"

namespace octavo {

bool is_of_picture(const Error& error) {
  return error.kind == ErrorKind::kInvalidPicture || error.kind == ErrorKind::kPictureTooLarge;
}

ApiError picture_error(const Error& error, std::span<const ContentPart> parts, std::string_view otherwise) {
  ApiError told = to_api_error(error);
  told.param = otherwise;
  for (const ContentPart& part : parts) {
    const std::string& place = part.picture.place;
    if (!place.empty() && told.message.starts_with(place + ":")) told.param = place;
  }
  return told;
}

ApiError picture_error(const Error& error, std::span<const ChatMessage> messages, std::string_view otherwise) {
  ApiError told = picture_error(error, std::span<const ContentPart>(), otherwise);
  for (const ChatMessage& message : messages) told = picture_error(error, message.parts, std::string(told.param));
  return told;
}

}  // namespace octavo
