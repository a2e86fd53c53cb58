// How Python writes values: str(), repr(), names of types, numbers.
#pragma once

#include <string>

#include "template/evaluation.h"

namespace octavo::jinja {

std::string_view type_name(const Value& value);
std::string undefined_message(const Undefined& undefined);
/// The shortest digits that read back as the number, in Python's form: 1.0, 1e+16, inf, nan.
std::string float_repr(double value);

/// str(): appends the text of a value as printing it does.
void append_str(Evaluation& evaluation, TextBuilder& out, const Value& value);
/// repr(): appends the text of a value as it stands within lists.
void append_repr(Evaluation& evaluation, TextBuilder& out, const Value& value);
/// str() as a text; a text itself is not copied.
const Text* to_text(Evaluation& evaluation, const Value& value);

}  // namespace octavo::jinja
