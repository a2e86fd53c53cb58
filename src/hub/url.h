// Addresses: their origin, what a redirect makes of them, and paths in them. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::hub {

/// Scheme, host and port, such as "https://huggingface.co:443". Error: the address is not http or https.
Result<std::string> origin_of(const std::string& url);

/// The address that `location`, absolute or relative, means at `url`. Errors: the address is not http or https, or
/// leads from https to http.
Result<std::string> redirected(const std::string& url, const std::string& location);

/// The parts of an address that say what is connected to, as libcurl reads them.
struct WebAddress {
  std::string url;   // in the form that was read
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 0;
  bool is_secure = false;  // https
};

/// Errors: the address is not http or https, or has a user's name or a password in it.
Result<WebAddress> parse_web_address(const std::string& url);

/// A path with every byte but letters, digits and "-._~/" as %XX.
std::string url_path(std::string_view path);

/// The last part of an address's path, with %XX read; empty: the path has none.
std::string file_name_of(const std::string& url);

}  // namespace octavo::hub
