// Fields of a chat completion that other APIs lack and this server takes in their bodies too.
//
// Free function without state; any thread.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <string_view>

namespace octavo {

inline constexpr std::array<std::string_view, 10> kChatExtensions = {
    "cache_salt",  "seed",         "min_p",         "repetition_penalty", "structured_outputs",
    "guided_json", "guided_regex", "guided_choice", "guided_grammar",     "additional_properties"};

inline void copy_chat_extensions(const boost::json::object& body, boost::json::object& chat) {
  for (const std::string_view name : kChatExtensions)
    if (const boost::json::value* value = body.if_contains(name)) chat[name] = *value;
}

}  // namespace octavo
