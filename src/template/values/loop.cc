#include "template/values/loop.h"

#include "base/to_size.h"
#include "template/values/operators.h"

namespace octavo::jinja {

namespace {

Value look_ahead(Evaluation& evaluation, LoopState& loop) {
  if (!loop.after.is(Kind::kMissing)) return loop.after;
  if (const auto item = next_of(evaluation, *loop.items)) loop.after = *item;
  return loop.after;
}

Value cycle(Evaluation& evaluation, const Call& call) {
  const auto& loop = call.arguments[0].as<LoopState>();
  const auto values = call.arguments.subspan(1);
  if (!call.named.empty()) evaluation.fail("loop.cycle takes no keyword argument '{}'", call.named[0].name->bytes);
  if (values.empty()) evaluation.fail("loop.cycle got no values, expected at least one");
  return values[to_size(loop.index0) % values.size()];
}

Value changed(Evaluation& evaluation, const Call& call) {
  auto& loop = call.arguments[0].as_mutable<LoopState>();
  const Value values = evaluation.tuple(call.arguments.subspan(1));
  if (!call.named.empty()) evaluation.fail("loop.changed takes no keyword argument '{}'", call.named[0].name->bytes);
  if (!loop.last_changed.is(Kind::kMissing) && equal(evaluation, loop.last_changed, values))
    return Value::boolean(false);
  loop.last_changed = values;
  return Value::boolean(true);
}

constexpr NamedMethod kCycle{"cycle", cycle};
constexpr NamedMethod kChanged{"changed", changed};

Value method(Evaluation& evaluation, LoopState& loop, const NamedMethod& named) {
  return Value::object(Kind::kMethod, evaluation.arena().make<BoundMethod>(Value::of(&loop), &named));
}

struct LoopIterator : Iterator {
  LoopState* loop;
};

bool next_with_loop(Evaluation& evaluation, Iterator& base, Value& item) {
  LoopState& loop = *static_cast<LoopIterator&>(base).loop;
  const auto next = advance_loop(evaluation, loop);
  if (!next) return false;
  const Value pair[] = {*next, Value::of(&loop)};
  item = evaluation.tuple(pair);
  return true;
}

}  // namespace

Iterator* iterate_loop(Evaluation& evaluation, LoopState& loop) {
  return evaluation.arena().make<LoopIterator>(Iterator{next_with_loop}, &loop);
}

std::optional<Value> advance_loop(Evaluation& evaluation, LoopState& loop) {
  Value item = loop.after;
  if (item.is(Kind::kMissing)) {
    const auto next = next_of(evaluation, *loop.items);
    if (!next) return std::nullopt;
    item = *next;
  }
  loop.after = {};
  ++loop.index0;
  loop.before = loop.current;
  loop.current = item;
  return item;
}

std::int64_t length_of_loop(Evaluation& evaluation, LoopState& loop) {
  if (loop.length >= 0) return loop.length;
  if (!loop.iterable.is(Kind::kIterator)) {
    if (const auto length = length_of(evaluation, loop.iterable)) return loop.length = *length;
  }
  // The items are not counted yet, so all that are left are taken.
  const std::vector<Value> left = collect(evaluation, Value::of(loop.items));
  loop.items = iterate_items(evaluation, evaluation.arena().copy(left));
  const std::int64_t num_ahead = loop.after.is(Kind::kMissing) ? 0 : 1;
  return loop.length = static_cast<std::int64_t>(left.size()) + loop.index0 + 1 + num_ahead;
}

Value attribute_of_loop(Evaluation& evaluation, LoopState& loop, std::string_view name) {
  const auto number = [](std::int64_t value) { return Value::integer(value); };
  if (name == "index") return number(loop.index0 + 1);
  if (name == "index0") return number(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(look_ahead(evaluation, loop).is(Kind::kMissing));
  if (name == "length") return number(length_of_loop(evaluation, loop));
  if (name == "revindex") return number(length_of_loop(evaluation, loop) - loop.index0);
  if (name == "revindex0") return number(length_of_loop(evaluation, loop) - loop.index0 - 1);
  if (name == "depth") return number(loop.depth0 + 1);
  if (name == "depth0") return number(loop.depth0);
  if (name == "previtem")
    return loop.index0 == 0 ? evaluation.undefined_hint("there is no previous item") : loop.before;
  if (name == "nextitem") {
    const Value next = look_ahead(evaluation, loop);
    return next.is(Kind::kMissing) ? evaluation.undefined_hint("there is no next item") : next;
  }
  if (name == "cycle") return method(evaluation, loop, kCycle);
  if (name == "changed") return method(evaluation, loop, kChanged);
  return {};
}

}  // namespace octavo::jinja
