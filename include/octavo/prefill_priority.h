// The policy by which prompts and answers share an engine's steps.
#pragma once

#include <cstdint>

namespace octavo {

enum class PrefillPriority : std::uint8_t {
  kPrefillFirst,    // all chunks, then decode
  kInterleaved,     // after each chunk decodes get a turn
  kDecodePriority,  // a chunk only when no decode waits, or the prompt has waited too long
};

}  // namespace octavo
