// `value.name`, `value[index]` and `value[a:b]`, as jinja2's sandbox gives them.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// `value.name`: a method or an attribute before an entry; undefined if there is no such name.
Value get_attribute(Evaluation& evaluation, const Value& value, const Text& name);
/// `value[key]`: an item before an attribute; undefined if there is neither.
Value get_item(Evaluation& evaluation, const Value& value, const Value& key);
/// `value[begin:end:step]`, where each of the three is None or an integer.
Value get_slice(Evaluation& evaluation, const Value& value, std::span<const Value, 3> bounds);
/// An attribute of a namespace, or null.
NamespaceEntry* find_name(Evaluation& evaluation, const Namespace& names, std::string_view name);
/// Sets an attribute of a namespace. Names that begin with an underscore fail, as in transformers.
void set_name(Evaluation& evaluation, Namespace& names, const Text& name, const Value& value);

}  // namespace octavo::jinja
