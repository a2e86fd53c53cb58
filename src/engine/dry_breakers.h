// The tokens that contain a breaker of DRY, for each list of breakers that requests have named of late.
//
// Finding them takes a look at every token of the vocabulary, some milliseconds; nearly all requests name the same few
// lists. Owned by the engine's RequestMaker; any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/model_tokenizer.h"

namespace octavo {

class DryBreakers {
 public:
  static constexpr std::size_t kMaxLists = 8;

  /// The words must outlive this; the first `num_drawable` tokens count.
  DryBreakers(const ModelTokenizer& words, int num_drawable) : words_(words), num_drawable_(num_drawable) {}

  /// Ascending. Without words no token contains a text. Throws std::bad_alloc.
  std::vector<TokenId> tokens_of(const std::vector<std::string>& breakers) const;
  /// Times that the vocabulary was searched.
  std::uint64_t num_searches() const;

 private:
  struct Entry {
    std::vector<std::string> breakers;
    std::vector<TokenId> tokens;
  };

  std::vector<TokenId> search(std::span<const std::string> breakers) const;

  const ModelTokenizer& words_;
  const int num_drawable_;
  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;  // at most kMaxLists, the last one used in front
  mutable std::uint64_t num_searches_ = 0;
};

}  // namespace octavo
