// Names, each once, in the order in which they came.
//
// A plain value; any thread. The texts must outlive it.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace octavo {

class NameList {
 public:
  void add(std::string_view name) {
    const auto place = std::ranges::lower_bound(sorted_, name);
    if (place != sorted_.end() && *place == name) return;
    sorted_.insert(place, name);
    names_.push_back(name);
  }
  bool contains(std::string_view name) const { return std::ranges::binary_search(sorted_, name); }
  std::size_t size() const { return names_.size(); }
  std::span<const std::string_view> names() const { return names_; }

 private:
  std::vector<std::string_view> names_, sorted_;
};

}  // namespace octavo
