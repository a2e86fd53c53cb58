// The codebooks of the IQ1, IQ2 and IQ3 types: a file has the number of an entry in place of a group of weights.
//
// A group is 8 weights (IQ1, IQ2) or 4 (IQ3). A weight is a code, 0 .. 2 or 0 .. 7, which stands for one of the type's
// levels. A plain header: kernels of every instruction set include it; the tables are constant and have one copy.
#pragma once

#include <stdint.h>

namespace octavo {

/// N groups, each a word: byte c has the code of weight c in its lower nibble, and of weight c + 4 in its upper one.
template <int N>
struct Codebook {
  uint32_t words[N];
};
extern const Codebook<2048> kIq1Groups;  // for IQ1_S and IQ1_M
extern const Codebook<256> kIq2XxsGroups;
extern const Codebook<512> kIq2XsGroups;
extern const Codebook<1024> kIq2SGroups;
extern const Codebook<256> kIq3XxsGroups;
extern const Codebook<512> kIq3SGroups;

// The levels that the codes stand for.
inline constexpr int8_t kIq1Levels[3] = {-1, 0, 1};
inline constexpr int8_t kIq2Levels[3] = {8, 25, 43};
inline constexpr int8_t kIq3XxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr int8_t kIq3SLevels[8] = {1, 3, 5, 7, 9, 11, 13, 15};

/// The code of weight i of a group.
static inline constexpr int code_of(uint32_t group, int i) { return (int)(group >> (i % 4 * 8 + i / 4 * 4) & 7); }

}  // namespace octavo
