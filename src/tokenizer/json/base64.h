// Base64 (RFC 4648) in a tokenizer.json. A free function; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// The bytes that `text` stands for; no value: it is no base64 with its padding.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace octavo
