#include "capi/call_list.h"

#include "capi/call.h"

namespace octavo::capi {

void CallList::add(std::uint64_t id, const std::shared_ptr<Call>& call) {
  const std::lock_guard lock(mutex_);
  calls_.emplace(id, call);
}

void CallList::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  calls_.erase(id);
}

std::shared_ptr<Call> CallList::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : found->second.lock();
}

std::vector<std::shared_ptr<Call>> CallList::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Call>> calls;
  for (const auto& [id, call] : calls_)
    if (auto alive = call.lock()) calls.push_back(std::move(alive));
  return calls;
}

}  // namespace octavo::capi
