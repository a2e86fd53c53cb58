// Choices of requests that are over: the next ones of about their length reuse their memory, so that a step in which
// answers begin allocates nothing where such answers have ended.
//
// Owned by the engine; only the thread that drives it may call it.
#pragma once

#include <memory>
#include <vector>

#include "engine/answers/active_request.h"

namespace octavo {

/// A choice of the request that has the tokens of its prompt and room for all that it may generate, in blocks of
/// `block_size`. It has no sequence in the KV cache. Throws std::bad_alloc.
void begin_choice(Choice& choice, const ActiveRequest& request, int number, int block_size);

class ChoicePool {
 public:
  explicit ChoicePool(const ModelTokenizer& words) : words_(words) { spares_.reserve(kMost); }

  /// A choice for the request, as begin_choice() makes it. Throws std::bad_alloc.
  std::unique_ptr<Choice> take(const ActiveRequest& request, int choice, int block_size);
  /// Keeps a choice, unless enough are kept.
  void keep(std::unique_ptr<Choice> choice);

 private:
  static constexpr std::size_t kMost = 512, kMostTokens = std::size_t{1} << 22;

  const ModelTokenizer& words_;
  std::vector<std::unique_ptr<Choice>> spares_;
  std::size_t num_tokens_ = 0;  // the tokens for which all kept choices have room
};

}  // namespace octavo
