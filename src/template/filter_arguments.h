// The arguments that several filters take, such as the attribute of items that a filter looks at.
#pragma once

#include "template/evaluation.h"

namespace octavo::jinja {

/// "name", "address.city" or 0: the way to an attribute of an item.
class AttributePath {
 public:
  /// None: the item itself.
  AttributePath(Evaluation& evaluation, const Value& attribute, bool ignore_case = false, Value fallback = {});
  /// An undefined attribute is the fallback, where there is one.
  Value get(const Value& item) const;

 private:
  Evaluation* evaluation_;
  std::span<const Value> parts_;
  bool ignore_case_;
  Value fallback_;
};

/// Items by the attributes that a comma separates, each item's as a list.
std::vector<Value> sort_keys(Evaluation& evaluation, std::span<const Value> items, const Value& attribute,
                             bool ignore_case);
/// Sorts items by keys of the same number; equal ones keep their order.
std::vector<Value> sort_by(Evaluation& evaluation, std::span<const Value> items, std::span<const Value> keys,
                           bool reverse);

}  // namespace octavo::jinja
