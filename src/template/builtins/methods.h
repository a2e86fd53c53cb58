// The methods of strings, dicts, lists, tuples and numbers that templates may call.
//
// Methods that change their object (append, pop, update) are left out: the sandbox of transformers refuses them too.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// The method of this name for a value's type; null: there is none.
const NamedMethod* find_method(const Value& value, std::string_view name);
/// Whether Python's sandbox refuses a method: it changes the object, or its name begins with two underscores.
bool is_refused(const Value& value, std::string_view name);

std::span<const NamedMethod> text_methods();
std::span<const NamedMethod> text_query_methods();

}  // namespace octavo::jinja
