// The state of one rendering that every part of the interpreter works with.
#pragma once

#include <ctime>
#include <span>
#include <string_view>

#include "template/values/arena.h"
#include "template/values/failure.h"
#include "template/values/value.h"

namespace octavo::jinja {

class Evaluation {
 public:
  Evaluation(Budget budget, const std::tm& now) : arena_(budget), now_(now) {}

  Arena& arena() { return arena_; }
  /// The local time that strftime_now tells.
  const std::tm& now() const { return now_; }
  /// The current place, for a Failure that has none.
  Position where() const { return where_; }
  void set_where(Position where) { where_ = where; }

  /// Counts a step of work, or as many steps as there are `bytes` to look at.
  void step() { arena_.charge_steps(1); }
  void steps_for(std::size_t bytes) { arena_.charge_steps(1 + bytes / kBytesOfAStep); }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Failure{fmt::format(format, std::forward<Args>(args)...), where_};
  }

  /// The depth of evaluation. Each function that may call itself again holds one.
  class Nesting {
   public:
    explicit Nesting(Evaluation& evaluation) : depth_(evaluation.depth_) {
      if (++depth_ > kMostNested) evaluation.fail_for_depth();
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  Value text(std::string_view bytes) { return Value::of(make_text(arena_, bytes)); }
  Value list(std::span<const Value> items) { return make_list(arena_, items); }
  Value tuple(std::span<const Value> items) { return make_tuple(arena_, items); }
  Value undefined_name(const Text* name) { return Value::of(arena_.make<Undefined>(name)); }
  Value undefined_hint(std::string_view hint) {
    return Value::of(arena_.make<Undefined>(nullptr, std::string_view{}, hint));
  }

 private:
  // The most levels. A macro's call takes about eight: so at most some 180 nested calls, as in Python.
  static constexpr int kMostNested = 1500;
  static constexpr std::size_t kBytesOfAStep = 64;

  [[noreturn]] void fail_for_depth() {
    --depth_;  // the destructor of what was not constructed does not run
    fail("it is nested more than {} levels deep in its calls and values", kMostNested);
  }

  Arena arena_;
  const std::tm now_;
  Position where_;
  int depth_ = 0;
};

}  // namespace octavo::jinja
