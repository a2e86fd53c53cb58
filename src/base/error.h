// Errors inside the library: Result<T> for bad input, CHECK for our own bugs.
#pragma once

#include <fmt/format.h>

#include "octavo/result.h"

namespace octavo {

/// An error for `return` in a function that gives a Result: `return fail("{}: no such key", key);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// An error of a kind that callers tell apart.
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail_as(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{fmt::format(format, std::forward<Args>(args)...), kind});
}

/// Ends the process with the condition and its place, after a state that only a bug of ours can cause.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace octavo

#define OCTAVO_CONCAT_INNER(a, b) a##b
#define OCTAVO_CONCAT(a, b) OCTAVO_CONCAT_INNER(a, b)

/// `OCTAVO_TRY(auto x, f());` declares x from f()'s value or returns f()'s error.
#define OCTAVO_TRY(declaration, expression) \
  OCTAVO_TRY_IMPL(OCTAVO_CONCAT(try_result_, __LINE__), declaration, expression)
#define OCTAVO_TRY_IMPL(result, declaration, expression)          \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result.error())); \
  declaration = std::move(*result)

/// `OCTAVO_TRY_VOID(f());` returns f()'s error, if it gives one.
#define OCTAVO_TRY_VOID(expression)                                                                         \
  do {                                                                                                      \
    if (auto try_result = (expression); !try_result) return std::unexpected(std::move(try_result.error())); \
  } while (false)

/// Checks, in every build, a condition that holds unless Octavo has a bug. Extra arguments are a fmt message.
#define OCTAVO_CHECK(condition, ...)                                                       \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::octavo::check_failed(#condition, __FILE__, __LINE__, fmt::format("" __VA_ARGS__)); \
  } while (false)
