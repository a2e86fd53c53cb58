// The id of a token: a row of the model's vocabulary.
#pragma once

#include <cstdint>

namespace octavo {

using TokenId = std::int32_t;

}  // namespace octavo
