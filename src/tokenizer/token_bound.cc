#include "tokenizer/token_bound.h"

#include <algorithm>
#include <string>

#include "base/to_size.h"
#include "tokenizer/words/byte_level.h"

namespace octavo {

TokenBound::TokenBound(const Vocab& vocab, const std::array<bool, 256>& silent) : silent_(silent) {
  longest_with_.fill(1);
  const ByteAlphabet alphabet;
  std::string decoded;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    decoded.clear();
    const bool is_word = vocab.is_byte_level() && alphabet.decode(vocab.text(id), decoded);
    if (is_word) add(decoded);
    if (!is_word || vocab.is_control(id) || vocab.is_user_defined(id)) add(vocab.text(id));
  }
}

void TokenBound::add(std::string_view token) {
  if (token.empty()) return;
  std::size_t& longest_of_byte = longest_with_[static_cast<unsigned char>(token.front())];
  longest_of_byte = std::max(longest_of_byte, token.size());
  longest_ = std::max(longest_, token.size());
}

std::size_t TokenBound::num_spoken(std::string_view text) const {
  return to_size(std::ranges::count_if(text, [this](char c) { return !silent_[static_cast<unsigned char>(c)]; }));
}

// Counts the fewest steps from the text's beginning to its end, where a step is at most as long as the longest token
// that begins with the byte at its place. Silent bytes are left out before merging, so only the others count.
bool TokenBound::exceeds(std::string_view text, std::size_t max_tokens) const {
  std::size_t num_steps = 0;
  std::size_t place = 0;
  std::size_t end = 0;       // the place that num_steps steps reach
  std::size_t farthest = 0;  // the place that one more step reaches
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (silent_[byte]) continue;
    farthest = std::max(farthest, place + longest_with_[byte]);
    if (place++ < end) continue;
    if (++num_steps > max_tokens) return true;
    end = farthest;
    if (end >= text.size()) return false;
  }
  return false;
}

}  // namespace octavo
