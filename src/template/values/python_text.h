// Values as Python's texts: str(), repr(), names of types.
#pragma once

#include <string>

#include "template/values/evaluation.h"

namespace octavo::jinja {

std::string_view type_name(const Value& value);
std::string undefined_message(const Undefined& undefined);

/// Appends str() of a value, as printing does.
void append_str(Evaluation& evaluation, TextBuilder& out, const Value& value);
/// Appends repr() of a value, as lists do with their items.
void append_repr(Evaluation& evaluation, TextBuilder& out, const Value& value);
/// str() of a value; the text of a string is not copied.
const Text* to_text(Evaluation& evaluation, const Value& value);

}  // namespace octavo::jinja
