// `loop`, by which the body of a for statement knows its place: jinja2's LoopContext, which looks ahead only if asked.
#pragma once

#include "template/values/iteration.h"

namespace octavo::jinja {

struct Frame;
struct Statement;

struct LoopState {
  Value iterable;  // the source of the length, where it has one
  Iterator* items;
  std::int64_t index0 = -1;
  std::int64_t depth0 = 0;
  std::int64_t length = -1;  // -1: not known yet
  Value current = {};
  Value before = {};
  Value after = {};                      // the next item; missing: it was not looked at, or there is none
  Value last_changed = {};               // a tuple
  const Statement* recursive = nullptr;  // the statement that `loop(...)` runs again
  Frame* outer = nullptr;                // the scope of that statement
};

/// Moves on to the next item, if there is one.
std::optional<Value> advance_loop(Evaluation& evaluation, LoopState& loop);
/// An attribute of `loop`, or missing.
Value attribute_of_loop(Evaluation& evaluation, LoopState& loop, std::string_view name);
std::int64_t length_of_loop(Evaluation& evaluation, LoopState& loop);
/// An iterator over the items together with the loop, for templates that iterate over `loop` itself.
Iterator* iterate_loop(Evaluation& evaluation, LoopState& loop);

}  // namespace octavo::jinja
