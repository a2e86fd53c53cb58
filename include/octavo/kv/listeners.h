// A short list of functions that are told of an event, in the order in which they were added.
//
// One thread at a time. A listener must not add or remove any while it is told. Telling allocates nothing.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace octavo {

/// The name of a listener in its list.
using ListenerId = int;

template <class... Arguments>
class Listeners {
 public:
  using Listener = std::function<void(Arguments...)>;

  /// Adds a listener; the id is for remove(), and is never used again.
  ListenerId add(Listener listener) {
    listeners_.emplace_back(next_, std::move(listener));
    return next_++;
  }
  /// Removes a listener; does nothing where no listener has this id.
  void remove(ListenerId id) {
    std::erase_if(listeners_, [&](const auto& known) { return known.first == id; });
  }
  void tell(Arguments... arguments) const {
    for (const auto& [id, listener] : listeners_) listener(arguments...);
  }

 private:
  std::vector<std::pair<ListenerId, Listener>> listeners_;
  ListenerId next_ = 0;
};

}  // namespace octavo
