// Pairs of characters that stand side by side in some token. No token spans any other pair, so a text can be cut at
// such pairs into pieces that are encoded each by itself: in a vocabulary of words at nearly every space.
//
// The Spm owns it; immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/words/vocab.h"

namespace octavo {

class Neighbours {
 public:
  explicit Neighbours(const Vocab& vocab);

  /// The bytes of the first piece of `text`, which is not empty. Characters are cut by their lead bytes alone.
  std::size_t piece(std::string_view text) const;

 private:
  static std::uint32_t slot(std::uint32_t left, std::uint32_t right);

  // [hashes of both characters] Two pairs may share a bit: then a text is cut less often, and gets the same tokens.
  std::vector<bool> stand_together_;
};

}  // namespace octavo
