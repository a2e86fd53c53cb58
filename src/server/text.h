// Text of clients and of model files, made fit for JSON and for names. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace octavo::server {

/// Each maximal ill-formed part becomes U+FFFD.
std::string valid_utf8(std::string_view bytes);

/// A name for /v1/models: "SmolLM2 135M Instruct" -> "smollm2-135m-instruct"; "model" if nothing is left.
std::string slug(std::string_view name);

}  // namespace octavo::server
