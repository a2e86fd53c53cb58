// Characters that stand beside each other in some token. Between two that never do, no token can lie, so a text falls
// into pieces that are encoded each by itself: with a vocabulary of words, at nearly every space.
//
// Owned by the Spm; immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/vocab.h"

namespace octavo {

class Neighbours {
 public:
  explicit Neighbours(const Vocab& vocab);

  /// Bytes of the piece that `text`, which is not empty, begins with. Characters are cut by their lead bytes alone.
  std::size_t piece(std::string_view text) const;

 private:
  static std::uint32_t slot(std::uint32_t left, std::uint32_t right);

  // By a hash of both characters. Two pairs may share a bit: then a text has a cut less, and the same tokens.
  std::vector<bool> stand_together_;
};

}  // namespace octavo
