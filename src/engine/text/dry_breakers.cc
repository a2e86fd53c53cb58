#include "engine/text/dry_breakers.h"

#include <algorithm>

namespace octavo {

std::shared_ptr<const BreakerTokens> DryBreakers::tokens_of(const std::vector<std::string>& breakers) const {
  {
    const std::scoped_lock lock(mutex_);
    if (auto found = find(breakers)) {
      keep(found);
      return found;
    }
  }
  auto found = std::make_shared<const BreakerTokens>(breakers, search(breakers));
  const std::scoped_lock lock(mutex_);
  std::erase_if(held_, [](const auto& held) { return held.expired(); });
  held_.push_back(found);
  keep(found);
  return found;
}

std::shared_ptr<const BreakerTokens> DryBreakers::find(const std::vector<std::string>& breakers) const {
  for (const auto& held : held_)
    if (auto found = held.lock(); found != nullptr && found->breakers == breakers) return found;
  return nullptr;
}

/// Puts a list to the front of the kept ones, and drops the last one where there are too many.
void DryBreakers::keep(const std::shared_ptr<const BreakerTokens>& found) const {
  auto at = std::ranges::find(kept_, found);
  if (at == kept_.end()) {
    if (kept_.size() == kMaxLists) kept_.pop_back();
    kept_.push_back(found);
    at = kept_.end() - 1;
  }
  std::rotate(kept_.begin(), at, at + 1);
}

std::vector<TokenId> DryBreakers::search(std::span<const std::string> breakers) const {
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
