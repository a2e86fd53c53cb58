// A text in place of each image of a request, for servers that are told to answer although their model sees none.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string_view>

namespace octavo {

inline constexpr std::size_t kMaxImagePlaceholder = 1024;  // bytes

/// Replaces images in the contents of messages and items, in any API's form, by parts with the placeholder; for
/// ollama's bodies it is appended to the content beside the images. The result is the number of images.
std::size_t replace_images(boost::json::object& body, std::string_view placeholder);

}  // namespace octavo
