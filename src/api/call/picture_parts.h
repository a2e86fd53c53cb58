// Pictures in the bodies of requests, in whichever API's form: a data URL or base64 in `image_url`, `image`, or
// `source`. Their bytes are taken as they are; what they are is found when the prompt is made. An address that still
// stands there is one that was not fetched from (picture_addresses.h).
//
// A PictureReader serves one body on one thread; what it finds points into the body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "api/call/picture_addresses.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"
#include "octavo/picture.h"

namespace octavo {

struct ApiContext;

/// The data of a picture, and the place of it in the body.
struct FoundPicture {
  std::string_view data = {};  // base64, or a data URL
  std::string place = {};
  std::string_view detail = {};  // low, auto, high; empty: auto
};

class PictureReader {
 public:
  /// For a model that sees nothing.
  PictureReader() = default;
  /// For the model that answers, if it sees. The body's own numbers of tokens hold for all its pictures. Errors: these
  /// are no numbers, or the most is less than the fewest.
  static ApiResult<PictureReader> create(const JsonCursor& body, const ApiContext& context);

  bool sees() const { return vision_.sees(); }
  /// Of a request.
  int most_pictures() const { return bounds_.pictures; }
  /// The picture in a part of a content. None: it stands elsewhere, at an address or in a store, or nowhere. Errors:
  /// that, in what the user says now; there also an unknown detail.
  ApiResult<std::optional<FoundPicture>> find(const JsonCursor& part, bool is_newest);
  /// Errors: what is no base64, more bytes or more pictures than the bounds say.
  ApiResult<ContentPart> decode(const FoundPicture& found);
  /// A warning for the client of pictures of a history that find() has not found where they should be: it has the
  /// first, and counts the others.
  std::optional<std::string> warning() const;

 private:
  /// The most tokens for a detail; 0: the model's.
  int max_tokens(std::string_view detail) const;

  VisionInfo vision_ = {};
  PictureBounds bounds_ = {};
  int min_tokens_ = 0, max_tokens_ = 0;  // that the body asks for; 0: nothing
  int num_pictures_ = 0;                 // that were decoded
  const UnfetchedPictures* unfetched_ = nullptr;
  std::string first_missing_ = {};  // why it is not there
  int num_missing_ = 0;
};

}  // namespace octavo
