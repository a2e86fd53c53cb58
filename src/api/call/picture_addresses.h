// The pictures of a body before it is parsed, in any API's form. The server fetches those that are addresses, and a
// data URL with the picture takes the address's place.
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/result.h"

namespace octavo {

/// Whether a picture's text is an address that can be fetched: http, https or file.
bool is_picture_address(std::string_view text);

struct PictureAddress {
  std::string address = {};
  int count = 1;  // how often the body has the address
};

struct FetchedPicture {
  std::string bytes = {};
  std::string_view media_type = {};
};

using FetchedPictures = std::map<std::string, Result<FetchedPicture>, std::less<>>;
/// The reasons why pictures were not fetched, by their addresses.
using UnfetchedPictures = std::map<std::string, Error, std::less<>>;

struct BodyPictures {
  bool has_any = false;                        // the body has pictures, as addresses or as data
  std::vector<PictureAddress> addresses = {};  // each address once, in order of appearance
};

/// Finds the pictures in the messages of a body.
BodyPictures find_pictures(boost::json::object& body);
/// Puts fetched pictures in the places of their addresses. The result has the errors of the others.
UnfetchedPictures put_pictures(boost::json::object& body, const FetchedPictures& fetched);

}  // namespace octavo
