// A text in the place of each image of a request, for servers that are told to answer where they cannot see.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string_view>

namespace octavo {

inline constexpr std::size_t kMaxImagePlaceholder = 1024;  // bytes

/// Replaces images in the contents of messages and items, whichever API the body is of, by parts with that text; of
/// ollama's bodies it is written behind the content that they stand beside. How many there were.
std::size_t replace_images(boost::json::object& body, std::string_view placeholder);

}  // namespace octavo
