// Joins the texts of a table's rows into one line, for messages.
#pragma once

#include <functional>
#include <string>

namespace octavo {

/// The texts that `projection` gives for the elements, separated by ", ".
template <class Range, class Projection>
std::string joined(const Range& range, Projection projection) {
  std::string text;
  for (const auto& element : range) {
    if (!text.empty()) text += ", ";
    text += std::invoke(projection, element);
  }
  return text;
}

}  // namespace octavo
