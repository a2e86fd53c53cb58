#include "engine/dry_breakers.h"

#include <algorithm>

namespace octavo {

std::vector<TokenId> DryBreakers::tokens_of(const std::vector<std::string>& breakers) const {
  const std::scoped_lock lock(mutex_);
  auto found = std::ranges::find(entries_, breakers, &Entry::breakers);
  if (found == entries_.end()) {
    Entry entry{.breakers = breakers, .tokens = search(breakers)};
    if (entries_.size() == kMaxLists) entries_.pop_back();
    entries_.push_back(std::move(entry));
    found = entries_.end() - 1;
  }
  std::rotate(entries_.begin(), found, found + 1);
  return entries_.front().tokens;
}

std::uint64_t DryBreakers::num_searches() const {
  const std::scoped_lock lock(mutex_);
  return num_searches_;
}

std::vector<TokenId> DryBreakers::search(std::span<const std::string> breakers) const {
  ++num_searches_;
  std::vector<TokenId> tokens;
  const Tokenizer* tokenizer = words_.tokenizer();
  if (tokenizer == nullptr) return tokens;
  for (TokenId token = 0; token < num_drawable_; ++token) {
    const std::string_view bytes = tokenizer->token_bytes(token);
    const auto is_in = [bytes](const std::string& text) { return bytes.find(text) != std::string_view::npos; };
    if (std::ranges::any_of(breakers, is_in)) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace octavo
