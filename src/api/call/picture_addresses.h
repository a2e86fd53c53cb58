// The pictures of a body before it is parsed, in whichever API's form. Those that it names by addresses are fetched by
// whoever serves the body: a picture that came is put in the place of its address, as a data URL.
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

/// Whether a text where a picture is expected is an address that can be fetched: http, https or file.
bool is_picture_address(std::string_view text);

struct PictureAddress {
  std::string address = {};
  int count = 1;  // how often the body has it
};

struct FetchedPicture {
  std::string bytes = {};
  std::string_view media_type = {};
};

using FetchedPictures = std::map<std::string, Result<FetchedPicture>, std::less<>>;
/// The reasons why pictures are not there, by their addresses.
using UnfetchedPictures = std::map<std::string, Error, std::less<>>;

struct BodyPictures {
  bool has_any = false;                        // at addresses or as data
  std::vector<PictureAddress> addresses = {};  // each once, in their order
};

/// The pictures in the messages of a body.
BodyPictures find_pictures(boost::json::object& body);
/// Puts pictures in the places of their addresses. The errors of the others.
UnfetchedPictures put_pictures(boost::json::object& body, const FetchedPictures& fetched);

}  // namespace octavo
