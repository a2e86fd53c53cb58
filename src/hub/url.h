// Addresses: their origin, what a redirect makes of them, and paths in them. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::hub {

/// Scheme, host and port, such as "https://huggingface.co:443". Error: the address is not http or https.
Result<std::string> origin_of(const std::string& url);

/// The address that `location`, absolute or relative, means at `url`. Errors: the address is not http or https, or
/// leads from https to http.
Result<std::string> redirected(const std::string& url, const std::string& location);

/// A path with every byte but letters, digits and "-._~/" as %XX.
std::string url_path(std::string_view path);

/// The last part of an address's path, with %XX read; empty: the path has none.
std::string file_name_of(const std::string& url);

}  // namespace octavo::hub
