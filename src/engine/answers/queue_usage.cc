#include "engine/answers/queue_usage.h"

namespace octavo {
namespace {

auto unfair(std::string_view what, std::int64_t held, std::int64_t amount, std::int64_t left) {
  return fail_as(ErrorKind::kQueueFull,
                 "found {} {} of one client waiting and {} more, expected at most {}: {} times the {} that are left",
                 held, what, amount, QueueBound::kOwnerFactor * left, QueueBound::kOwnerFactor, left);
}

}  // namespace

Result<QueueUsage::Place> QueueUsage::enter(std::string_view owner, std::int64_t tokens) {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(owner);
  OCTAVO_TRY_VOID(check(owner, found == owners_.end() ? Held{} : found->second, tokens));
  const auto place = found != owners_.end() ? found : owners_.emplace(owner, Held{}).first;
  for (Held* held : {&all_, &place->second}) {
    ++held->requests;
    held->tokens += tokens;
  }
  return Place(*this, place, tokens);
}

Result<void> QueueUsage::check(std::string_view owner, const Held& of_owner, std::int64_t tokens) const {
  const auto& [requests, all_tokens] = bounds_;
  if (!all_tokens.has_room(0, tokens)) {
    return fail("tokens: found {} of the prompt, counted once for each choice, expected at most {}: so many may wait",
                tokens, all_tokens.most);
  }
  if (!requests.has_room(all_.requests, 1)) {
    return fail_as(ErrorKind::kQueueFull, "found {} requests waiting, expected fewer than {}", all_.requests,
                   requests.most);
  }
  if (!all_tokens.has_room(all_.tokens, tokens)) {
    return fail_as(ErrorKind::kQueueFull, "found {} tokens of prompts waiting and {} more, expected at most {}",
                   all_.tokens, tokens, all_tokens.most);
  }
  if (owner.empty()) return {};
  if (!requests.is_fair(all_.requests, of_owner.requests, 1))
    return unfair("requests", of_owner.requests, 1, requests.most - all_.requests);
  if (!all_tokens.is_fair(all_.tokens, of_owner.tokens, tokens))
    return unfair("tokens of prompts", of_owner.tokens, tokens, all_tokens.most - all_.tokens);
  return {};
}

void QueueUsage::Place::leave() {
  if (block_budget_ == nullptr) return;
  QueueUsage& block_budget = *std::exchange(block_budget_, nullptr);
  const std::lock_guard lock(block_budget.mutex_);
  for (Held* held : {&block_budget.all_, &owner_->second}) {
    --held->requests;
    held->tokens -= tokens_;
  }
  if (owner_->second.requests == 0) block_budget.owners_.erase(owner_);
}

}  // namespace octavo
