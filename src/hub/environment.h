// The environment of a process, as its main() or a test gives it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace octavo::hub {

/// Gives the value of an environment variable; none where it is not set or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;

}  // namespace octavo::hub
