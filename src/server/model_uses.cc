#include "server/model_uses.h"

#include <algorithm>

#include "api/fields/keep_alive.h"

namespace octavo::server {
namespace {

using TimePoint = ModelUses::Clock::time_point;

constexpr std::size_t kMaxClients = 256;  // the most clients known one by one, besides those with running requests

TimePoint kept_until(TimePoint from, std::chrono::milliseconds kept) {
  return kept == kKeptForever ? TimePoint::max() : from + kept;
}

}  // namespace

ModelUses::Use& ModelUses::begin(const std::string& client, Clock::time_point now) {
  Use& use = of(client);
  ++use.num_requests;
  use.last = now;
  return use;
}

void ModelUses::end(Use& use, Clock::time_point now) noexcept {
  --use.num_requests;
  use.last = now;
}

void ModelUses::release(const std::string& client) { of(client).keep_alive = std::chrono::milliseconds(0); }

void ModelUses::clear() { *this = {}; }

ModelUses::Use& ModelUses::of(const std::string& client) {
  const auto [place, is_new] = uses_.try_emplace(client);
  if (is_new && uses_.size() > kMaxClients) forget_oldest(place->second);
  return place->second;
}

void ModelUses::forget_oldest(const Use& but_for) noexcept {
  auto oldest = uses_.end();
  for (auto place = uses_.begin(); place != uses_.end(); ++place) {
    const Use& use = place->second;
    if (use.num_requests > 0 || &use == &but_for) continue;
    if (oldest == uses_.end() || use.last < oldest->second.last) oldest = place;
  }
  if (oldest == uses_.end()) return;
  const Use& use = oldest->second;
  if (use.keep_alive) {
    others_until_ = std::max(others_until_, kept_until(use.last, *use.keep_alive));
    last_that_said_ = std::max(last_that_said_, use.last);
  } else {
    last_of_others_ = std::max(last_of_others_.value_or(use.last), use.last);
  }
  uses_.erase(oldest);
}

ModelUses::Clock::time_point ModelUses::wanted_until(Clock::time_point now, std::chrono::milliseconds kept,
                                                     const std::string* but_for) const {
  Clock::time_point until = others_until_;
  if (last_that_said_ > Clock::time_point::min()) until = std::min(until, kept_until(last_that_said_, kept));
  if (last_of_others_) until = std::max(until, kept_until(*last_of_others_, kept));
  for (const auto& [client, use] : uses_) {
    if (but_for != nullptr && client == *but_for) continue;
    const std::chrono::milliseconds wanted = std::min(use.keep_alive.value_or(kept), kept);
    until = std::max(until, kept_until(use.num_requests > 0 ? now : use.last, wanted));
  }
  return until;
}

}  // namespace octavo::server
