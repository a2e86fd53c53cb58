// Values as Python's texts: str(), repr(), names of types.
#pragma once

#include <string>

#include "template/evaluation.h"

namespace octavo::jinja {

std::string_view type_name(const Value& value);
std::string undefined_message(const Undefined& undefined);

/// str(): appends the text of a value as printing it does.
void append_str(Evaluation& evaluation, TextBuilder& out, const Value& value);
/// repr(): appends the text of a value as it stands within lists.
void append_repr(Evaluation& evaluation, TextBuilder& out, const Value& value);
/// str() as a text; a text itself is not copied.
const Text* to_text(Evaluation& evaluation, const Value& value);

}  // namespace octavo::jinja
