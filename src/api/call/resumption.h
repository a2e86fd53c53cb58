// An answer that broke off and goes on: the tokens that its client has, and whether they are drawn again.
// A value without behaviour.
#pragma once

#include <string>
#include <vector>

#include "octavo/token.h"

namespace octavo {

struct Resumption {
  std::vector<TokenId> tokens = {};  // of the answer, which its client has
  std::string id = {};               // the id that the answer had; empty: it gets a new one
  bool verifies = false;             // all are drawn again and compared; else they count as drawn
};

}  // namespace octavo
