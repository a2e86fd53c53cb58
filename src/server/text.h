// Names of models, made fit for addresses. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace octavo::server {

/// A name for /v1/models: "SmolLM2 135M Instruct" -> "smollm2-135m-instruct"; "model" if nothing is left.
std::string slug(std::string_view name);

}  // namespace octavo::server
