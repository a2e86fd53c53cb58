// Calls that are not over, by their numbers. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace octavo::capi {

class Call;

class CallList {
 public:
  void add(std::uint64_t id, const std::shared_ptr<Call>& call);
  void remove(std::uint64_t id);
  /// The call with this number; null where there is none.
  std::shared_ptr<Call> find(std::uint64_t id) const;
  std::vector<std::shared_ptr<Call>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<Call>> calls_;
};

}  // namespace octavo::capi
