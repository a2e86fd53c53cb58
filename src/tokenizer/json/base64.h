// Base64 (RFC 4648) in JSON. Free functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// The bytes that `text` stands for; no value: it is no base64 with its padding.
std::optional<std::string> decode_base64(std::string_view text);
/// The text that stands for `bytes`, with its padding.
std::string encode_base64(std::string_view bytes);

}  // namespace octavo
