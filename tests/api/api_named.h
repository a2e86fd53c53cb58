// The row of an API by its name, for tests.
#pragma once

#include <algorithm>
#include <string_view>

#include "api/api.h"
#include "base/error.h"

namespace octavo {

inline const Api& api_named(std::string_view name) {
  const auto found = std::ranges::find(all_apis(), name, &Api::name);
  OCTAVO_CHECK(found != all_apis().end(), "no API has the name {}", name);
  return *found;
}

}  // namespace octavo
