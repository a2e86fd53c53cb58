// Finds the first of some texts in a stream of bytes, wherever the stream is cut.
//
// By Knuth, Morris and Pratt's method: a few comparisons for each byte and text. One thread; the texts outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/to_size.h"

namespace octavo {

class MarkFinder {
 public:
  static constexpr std::size_t kMaxMarkBytes = 64;

  /// Takes texts of 1 to kMaxMarkBytes bytes, none of which is the beginning of another.
  explicit MarkFinder(std::span<const std::string_view> texts);

  /// Adds a byte, behind which one of the texts may be complete: its index, the longest one's if there are several; -1:
  /// none. After one the search begins anew. `counts(i)` says whether text i may count here.
  template <class Counts>
  int push(char c, const Counts& counts) {
    int found = -1;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      Mark& mark = marks_[i];
      if (!counts(i)) {
        mark.matched = 0;
      } else if (mark.advance(c) && (found < 0 || mark.text.size() > marks_[to_size(found)].text.size())) {
        found = static_cast<int>(i);
      }
    }
    if (found >= 0) restart();
    return found;
  }
  int push(char c) {
    return push(c, [](std::size_t) { return true; });
  }
  /// The number of bytes at the end of the stream that may become a text.
  std::size_t held() const;
  void restart();

 private:
  struct Mark {
    std::string_view text;
    std::vector<std::uint8_t> borders = {};  // the longest proper prefix of text[0..i] that is its suffix too
    std::uint8_t matched = 0;

    bool advance(char c);
  };

  std::vector<Mark> marks_;
};

}  // namespace octavo
