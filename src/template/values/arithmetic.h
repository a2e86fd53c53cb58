// Python's arithmetic on integers of 64 bits and floats, and its + * % of texts and lists.
//
// Python's integers have no bound; here one beyond 64 bits is an error that says so.
#pragma once

#include "template/values/operators.h"

namespace octavo::jinja {

/// Concatenates, as `+` and `~` do; text that joins markup is escaped.
const Text* concatenate(Evaluation& evaluation, const Text& left, const Text& right);
/// HTML's five characters as entities, in the spelling of markupsafe.
void append_escaped(TextBuilder& out, const Text& text);
/// The largest whole number that is not above the quotient.
std::int64_t floor_divide(std::int64_t left, std::int64_t right);
/// An integer from a float, towards zero. Floats beyond 64 bits, infinities and NaN fail.
std::int64_t to_integer(Evaluation& evaluation, double value);

}  // namespace octavo::jinja
