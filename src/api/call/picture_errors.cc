#include "api/call/picture_errors.h"

namespace octavo {

bool is_of_picture(const Error& error) {
  return error.kind == ErrorKind::kInvalidPicture || error.kind == ErrorKind::kPictureTooLarge;
}

ApiError picture_error(const Error& error, std::span<const ChatMessage> messages, std::string_view otherwise) {
  ApiError told = to_api_error(error);
  told.param = otherwise;
  for (const ChatMessage& message : messages)
    for (const ContentPart& part : message.parts) {
      const std::string& place = part.picture.place;
      if (!place.empty() && told.message.starts_with(place + ":")) told.param = place;
    }
  return told;
}

}  // namespace octavo
