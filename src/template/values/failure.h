// The exception with which compiling or rendering a template ends early.
//
// An interpreter of trees fails at any depth, in a filter within a test within a macro, and no function between there
// and the border could go on. So a Failure is thrown inside this folder, and Template::compile() and
// Template::render() catch it and give a Result. A Failure never passes these two.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace octavo::jinja {

/// A place in the template, counted from 1. A column counts bytes.
struct Position {
  std::uint32_t line = 0;  // 0: not known
  std::uint32_t column = 0;
};

struct Failure {
  std::string message;
  Position where = {};  // no place: that of the evaluation at hand
};

template <class... Args>
[[noreturn]] void fail_at(Position where, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{fmt::format(format, std::forward<Args>(args)...), where};
}

}  // namespace octavo::jinja
