#include "template/builtins/globals.h"

#include <algorithm>

#include "template/builtins/arguments.h"
#include "template/builtins/attributes.h"
#include "template/builtins/strftime.h"
#include "template/values/iteration.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

constexpr std::int64_t kMostOfRange = 100'000;  // jinja2's MAX_RANGE

/// How many numbers range(begin, end, step) has, as in Python.
std::int64_t range_size(std::int64_t begin, std::int64_t end, std::int64_t step) {
  const bool empty = step > 0 ? begin >= end : begin <= end;
  if (empty) return 0;
  const std::uint64_t distance = step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)
                                          : static_cast<std::uint64_t>(begin) - static_cast<std::uint64_t>(end);
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  const std::uint64_t size = (distance - 1) / stride + 1;
  return size > static_cast<std::uint64_t>(kMostOfRange) ? kMostOfRange + 1 : static_cast<std::int64_t>(size);
}

Value make_range(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "range", call, {"start", "stop", "step"}, 1);
  if (!call.named.empty()) evaluation.fail("range() takes no keyword arguments");
  const bool only_end = call.arguments.size() == 1;
  const std::int64_t begin = only_end ? 0 : arguments.integer(0, 0);
  const std::int64_t end = arguments.integer(only_end ? 0 : 1, 0), step = arguments.integer(2, 1);
  if (step == 0) evaluation.fail("range() arg 3 must not be zero");
  const std::int64_t size = range_size(begin, end, step);
  if (size > kMostOfRange) evaluation.fail("Range too big. The sandbox blocks ranges larger than {}.", kMostOfRange);
  return Value::of(evaluation.arena().make<Range>(begin, end, step, size));
}

/// Builds the dict of a call of dict(): from a mapping or pairs, and from named arguments.
const Dict* build_dict(Evaluation& evaluation, std::string_view function, const Call& call) {
  DictBuilder entries(evaluation.arena());
  const auto put = [&](const Value& key, const Value& value) {
    evaluation.step();
    if (!is_hashable(evaluation.arena(), key)) evaluation.fail("unhashable type: '{}'", type_name(key));
    entries.put(key, value);
  };
  if (call.arguments.size() > 1)
    evaluation.fail("{}() takes at most 1 value without a name, found {}", function, call.arguments.size());
  if (!call.arguments.empty() && call.arguments[0].is(Kind::kDict)) {
    for (const Entry& entry : call.arguments[0].dict().entries) put(entry.key, entry.value);
  } else if (!call.arguments.empty()) {
    Iterator* iterator = iterate(evaluation, call.arguments[0]);
    while (const auto item = next_of(evaluation, *iterator)) {
      const std::vector<Value> pair = collect(evaluation, *item);
      if (pair.size() != 2) evaluation.fail("{}() needs pairs, found {} values", function, pair.size());
      put(pair[0], pair[1]);
    }
  }
  for (const NamedValue& named : call.named) put(Value::of(named.name), named.value);
  return entries.finish();
}

Value make_dict(Evaluation& evaluation, const Call& call) { return Value::of(build_dict(evaluation, "dict", call)); }

Value make_namespace(Evaluation& evaluation, const Call& call) {
  auto* names = evaluation.arena().make<Namespace>();
  for (const Entry& entry : build_dict(evaluation, "namespace", call)->entries)
    set_name(evaluation, *names, *to_text(evaluation, entry.key), entry.value);
  return Value::object(Kind::kNamespace, names);
}

Value make_cycler(Evaluation& evaluation, const Call& call) {
  if (call.arguments.empty()) evaluation.fail("at least one item has to be provided to cycler()");
  if (!call.named.empty()) evaluation.fail("cycler() takes no keyword arguments");
  Arena& arena = evaluation.arena();
  return Value::object(Kind::kCycler, arena.make<Cycler>(arena.copy(call.arguments)));
}

Value make_joiner(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "joiner", call, {"sep"}, 0);
  const Text* separator = arguments.has(0) ? to_text(evaluation, arguments[0]) : make_text(evaluation.arena(), ", ");
  return Value::object(Kind::kJoiner, evaluation.arena().make<Joiner>(separator));
}

Value raise_exception(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "raise_exception", call, {"message"}, 1);
  evaluation.fail("the template refuses the conversation: {}", to_text(evaluation, arguments[0])->bytes);
}

Value strftime_now(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "strftime_now", call, {"format"}, 1);
  return Value::of(format_time(evaluation, arguments.text(0), evaluation.now()));
}

constexpr NamedFunction kGlobals[] = {
    {"range", make_range},          {"dict", make_dict},     {"namespace", make_namespace},
    {"cycler", make_cycler},        {"joiner", make_joiner}, {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
};

Value cycler_next(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "next", call, {"self"}, 1);
  auto& cycler = arguments[0].as_mutable<Cycler>();
  const Value current = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return current;
}

Value cycler_reset(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "reset", call, {"self"}, 1);
  arguments[0].as_mutable<Cycler>().at = 0;
  return Value::none();
}

constexpr NamedMethod kNext{"next", cycler_next};
constexpr NamedMethod kReset{"reset", cycler_reset};

}  // namespace

Value find_global(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kGlobals), std::end(kGlobals), [&](const auto& global) { return global.name == name; });
  return found == std::end(kGlobals) ? Value() : Value::of(found);
}

Value attribute_of_cycler(Evaluation& evaluation, const Value& cycler, std::string_view name) {
  const auto& state = cycler.as<Cycler>();
  if (name == "current") return state.items[state.at];
  if (name == "pos") return Value::integer(static_cast<std::int64_t>(state.at));
  if (name == "items") return evaluation.tuple(state.items);
  if (name != "next" && name != "reset") return {};
  return Value::object(Kind::kMethod, evaluation.arena().make<BoundMethod>(cycler, name == "next" ? &kNext : &kReset));
}

Value call_joiner(Evaluation& evaluation, const Value& joiner, const Call& call) {
  if (!call.arguments.empty() || !call.named.empty()) evaluation.fail("a joiner takes no arguments");
  auto& state = joiner.as_mutable<Joiner>();
  if (state.used) return Value::of(state.separator);
  state.used = true;
  return evaluation.text("");
}

}  // namespace octavo::jinja
