// The functions that every template may call: jinja2's, with transformers' own.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// A global function, or missing.
Value find_global(std::string_view name);

struct Cycler {
  std::span<const Value> items;
  std::size_t at = 0;
};

struct Joiner {
  const Text* separator;
  bool used = false;
};

/// An attribute of a cycler, or missing.
Value attribute_of_cycler(Evaluation& evaluation, const Value& cycler, std::string_view name);
/// The text of a joiner's call: empty the first time, then the separator.
Value call_joiner(Evaluation& evaluation, const Value& joiner, const Call& call);

}  // namespace octavo::jinja
