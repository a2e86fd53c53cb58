// The arguments that several filters take, such as the attribute of items that a filter looks at.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// The way to an attribute of an item: "name", "address.city" or 0.
class AttributePath {
 public:
  /// An attribute of None is the item itself.
  AttributePath(Evaluation& evaluation, const Value& attribute, bool ignore_case = false, Value fallback = {});
  /// An attribute of an item; the fallback, if there is one, where the attribute is undefined.
  Value get(const Value& item) const;

 private:
  Evaluation* evaluation_;
  std::span<const Value> parts_;
  bool ignore_case_;
  Value fallback_;
};

/// The values of each item's attributes, whose names a comma separates, as a list.
std::vector<Value> sort_keys(Evaluation& evaluation, std::span<const Value> items, const Value& attribute,
                             bool ignore_case);
/// Sorts items by as many keys; items of equal keys keep their order.
std::vector<Value> sort_by(Evaluation& evaluation, std::span<const Value> items, std::span<const Value> keys,
                           bool reverse);

}  // namespace octavo::jinja
