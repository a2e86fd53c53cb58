#include "template/builtins/arguments.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

Arguments::Arguments(Evaluation& evaluation, std::string_view function, const Call& call,
                     std::initializer_list<std::string_view> names, std::size_t num_required)
    : evaluation_(evaluation), function_(function) {
  OCTAVO_CHECK(names.size() <= kMostArguments);
  std::copy(names.begin(), names.end(), names_.begin());
  if (call.arguments.size() > names.size())
    evaluation.fail("{}() takes at most {} arguments, found {}", function, names.size(), call.arguments.size());
  std::copy(call.arguments.begin(), call.arguments.end(), values_.begin());
  for (const NamedValue& named : call.named) {
    const auto name = std::find(names.begin(), names.end(), named.name->bytes);
    if (name == names.end()) evaluation.fail("{}() takes no argument '{}'", function, named.name->bytes);
    Value& value = values_[to_size(name - names.begin())];
    if (!value.is(Kind::kMissing)) evaluation.fail("{}() got argument '{}' twice", function, named.name->bytes);
    value = named.value;
  }
  for (std::size_t i = 0; i < num_required; ++i)
    if (!has(i)) evaluation.fail("{}() lacks its argument '{}'", function, names_[i]);
}

std::int64_t Arguments::integer(std::size_t i, std::int64_t fallback) const {
  if (!has(i)) return fallback;
  const Value& value = values_[i];
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation_, value);
  if (!value.is_integer())
    evaluation_.fail("{}() needs an integer as its argument '{}', found {}", function_, names_[i], type_name(value));
  return value.as_int();
}

bool Arguments::truth(std::size_t i, bool fallback) const {
  return has(i) ? is_true(evaluation_, values_[i]) : fallback;
}

const Text& Arguments::text(std::size_t i) const {
  const Value& value = values_[i];
  if (!value.is(Kind::kText))
    evaluation_.fail("{}() needs a string as its argument '{}', found {}", function_, names_[i], type_name(value));
  return value.text();
}

}  // namespace octavo::jinja
