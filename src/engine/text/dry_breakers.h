// The tokens that contain a breaker of DRY, for each list of breakers that requests have named lately, or that somebody
// holds.
//
// Finding them takes a look at every token of the vocabulary, some milliseconds; nearly all requests name the same few
// lists. Owned by the engine's RequestMaker; any thread, and none waits for another's search.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/text/model_tokenizer.h"

namespace octavo {

/// A list of breakers, and the tokens that contain one of them, ascending.
struct BreakerTokens {
  std::vector<std::string> breakers = {};
  std::vector<TokenId> tokens = {};
};

class DryBreakers {
 public:
  /// The most lists that are kept although nobody holds them.
  static constexpr std::size_t kMaxLists = 8;

  /// `words` must outlive this; only the first `num_drawable` tokens count.
  DryBreakers(const ModelTokenizer& words, int num_drawable) : words_(words), num_drawable_(num_drawable) {}

  /// The tokens of a list; without a vocabulary there are none. Throws std::bad_alloc.
  std::shared_ptr<const BreakerTokens> tokens_of(const std::vector<std::string>& breakers) const;

 private:
  std::vector<TokenId> search(std::span<const std::string> breakers) const;
  std::shared_ptr<const BreakerTokens> find(const std::vector<std::string>& breakers) const;
  void keep(const std::shared_ptr<const BreakerTokens>& found) const;

  const ModelTokenizer& words_;
  const int num_drawable_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const BreakerTokens>> kept_;  // at most kMaxLists, the most recently used first
  mutable std::vector<std::weak_ptr<const BreakerTokens>> held_;    // lists that others hold, or no longer do
};

}  // namespace octavo
