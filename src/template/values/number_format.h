// Numbers with a width, a precision and a form, for both of Python's ways to format.
#pragma once

#include <string>

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// The specification between % or : and the letter.
struct FormatSpec {
  std::string_view fill = " ";  // one character
  char align = 0;               // < > ^ = or none
  char sign = '-';              // - + or a space
  bool alternate = false;       // #
  bool zero = false;
  std::int64_t width = 0;
  char grouping = 0;  // , _ or no separator of thousands
  std::int64_t precision = -1;
  char type = 0;
};

/// The most width and precision; Python has no bound but memory.
inline constexpr std::int64_t kMostFormatWidth = 1 << 20;
inline constexpr std::int64_t kMostPrecision = 400;

/// The sign and the digits of an integer in the form d, b, o, x or X.
std::string format_integer(Evaluation& evaluation, const FormatSpec& spec, std::int64_t value);
/// The sign and the digits of a float in the form e, E, f, F, g, G or %, or in none for Python's str().
std::string format_float(Evaluation& evaluation, const FormatSpec& spec, double value);
/// Appends a text padded to the width; `align` counts where the spec has no alignment.
void append_padded(Evaluation& evaluation, TextBuilder& out, const FormatSpec& spec, const Text& text, char align);
/// Appends a number padded to the width; zeros go between its sign and its digits.
void append_number(Evaluation& evaluation, TextBuilder& out, const FormatSpec& spec, std::string_view number);

}  // namespace octavo::jinja
