// Binds the arguments of a call to names, as Python binds the arguments of a function.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "template/values/evaluation.h"

namespace octavo::jinja {

class Arguments {
 public:
  /// Fails for too many or too few arguments, unknown names and repeated ones. `names` must outlive the arguments.
  Arguments(Evaluation& evaluation, std::string_view function, const Call& call,
            std::initializer_list<std::string_view> names, std::size_t num_required);

  bool has(std::size_t i) const { return !values_[i].is(Kind::kMissing); }
  const Value& operator[](std::size_t i) const { return values_[i]; }
  Value value_or(std::size_t i, Value fallback) const { return has(i) ? values_[i] : fallback; }
  /// An integer argument; other types fail, as in Python's own functions.
  std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  bool truth(std::size_t i, bool fallback) const;
  /// A string argument; other types fail.
  const Text& text(std::size_t i) const;
  /// Whether the argument is absent or None.
  bool is_none(std::size_t i) const { return !has(i) || values_[i].is(Kind::kNone); }

 private:
  static constexpr std::size_t kMostArguments = 8;

  Evaluation& evaluation_;
  std::string_view function_;
  std::array<Value, kMostArguments> values_;
  std::array<std::string_view, kMostArguments> names_;
};

}  // namespace octavo::jinja
