#include "api/call/vector_call.h"

#include <exception>

namespace octavo {

void TextRows::add(std::span<const float> rows) noexcept {
  try {
    if (floats_.empty()) floats_.reserve(expected_);
    floats_.insert(floats_.end(), rows.begin(), rows.end());
  } catch (const std::exception&) {
    floats_.clear();  // take() will find too few, whatever follows
  }
}

}  // namespace octavo
