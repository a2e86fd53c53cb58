// The value of a key that says nothing: llama.cpp writes -1 for an id or a kind that a model does not have.
#pragma once

#include <cstdint>
#include <limits>

namespace octavo {

inline constexpr std::uint64_t kUnspecified = std::numeric_limits<std::uint32_t>::max();

}  // namespace octavo
