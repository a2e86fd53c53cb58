// Numbers with a width, a precision and a form, for both of Python's ways to format.
#pragma once

#include <string>

#include "template/evaluation.h"

namespace octavo::jinja {

/// The specification between % or : and the letter.
struct FormatSpec {
  std::string_view fill = " ";  // one character
  char align = 0;               // < > ^ = or none
  char sign = '-';              // - + or a space
  bool alternate = false;       // #
  bool zero = false;
  std::int64_t width = 0;
  char grouping = 0;  // , _ or none
  std::int64_t precision = -1;
  char type = 0;
};

/// Widths and precisions beyond this are errors. Python has no bound but memory.
inline constexpr std::int64_t kMostFormatWidth = 1 << 20;
inline constexpr std::int64_t kMostPrecision = 400;

/// Sign and digits of an integer in a form: d b o x X.
std::string format_integer(Evaluation& evaluation, const FormatSpec& spec, std::int64_t value);
/// Sign and digits of a float in a form: e E f F g G %, or none for Python's str().
std::string format_float(Evaluation& evaluation, const FormatSpec& spec, double value);
/// Appends a text padded to the width; `align` where the spec has none.
void append_padded(Evaluation& evaluation, TextBuilder& out, const FormatSpec& spec, const Text& text, char align);
/// The same for a number: zeros go between its sign and its digits.
void append_number(Evaluation& evaluation, TextBuilder& out, const FormatSpec& spec, std::string_view number);

}  // namespace octavo::jinja
