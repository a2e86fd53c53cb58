// Pictures in the bodies of requests, in any API's form: a data URL or base64 in `image_url`, `image`, or `source`.
// Their bytes are taken as they are; their format is found when the prompt is made. An address that is still there was
// not fetched (picture_addresses.h).
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

/// The data of a picture, and where the body has it.
struct FoundPicture {
  std::string_view data = {};  // base64, or a data URL
  std::string place = {};
  std::string_view detail = {};  // low, auto, high; empty: auto
};

class PictureReader {
 public:
  /// A reader for a model that sees nothing.
  PictureReader() = default;
  /// A reader for the model that answers, if it sees. The body's numbers of tokens hold for all its pictures. Errors:
  /// they are no numbers, or the most is less than the fewest.
  static ApiResult<PictureReader> create(const JsonCursor& body, const ApiContext& context);

  bool sees() const { return vision_.sees(); }
  /// The most pictures of a request.
  int most_pictures() const { return bounds_.pictures; }
  /// The picture in a part of a content; none where it is at an address or in a store, or not there. Errors, in the
  /// newest message alone: there is none, or `detail` has an unknown value.
  ApiResult<std::optional<FoundPicture>> find(const JsonCursor& part, bool is_newest);
  /// Decodes the base64. Errors: it is none; it has more bytes, or there are more pictures, than the bounds allow.
  ApiResult<ContentPart> decode(const FoundPicture& found);
  /// A warning about pictures of the history that find() did not find where they should be: it says why for the first
  /// one, and counts the others.
  std::optional<std::string> warning() const;

 private:
  /// The most tokens of a picture with this detail; 0: the model's own bound.
  int max_tokens(std::string_view detail) const;

  VisionInfo vision_ = {};
  PictureBounds bounds_ = {};
  int min_tokens_ = 0, max_tokens_ = 0;  // as the body asks; 0: it does not say
  int num_pictures_ = 0;                 // the pictures that were decoded
  const UnfetchedPictures* unfetched_ = nullptr;
  std::string first_missing_ = {};  // why the first missing picture is not there
  int num_missing_ = 0;
};

}  // namespace octavo
