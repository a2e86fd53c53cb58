// The operations that string methods and filters share.
#pragma once

#include <optional>

#include "template/evaluation.h"
#include "template/unicode.h"

namespace octavo::jinja {

enum class Side : std::uint8_t { kBoth, kLeft, kRight };

/// Without the characters of `characters` at its ends, or without spaces for null.
const Text* strip(Evaluation& evaluation, const Text& text, const Text* characters, Side side);
/// With up to `count` places of `old` replaced, or all below 0.
const Text* replace(Evaluation& evaluation, const Text& text, const Text& old, const Text& replacement,
                    std::int64_t count);
/// The parts between separators, or between runs of spaces for null; at most `most` cuts, or any number below 0.
std::vector<Value> split(Evaluation& evaluation, const Text& text, const Text* separator, std::int64_t most);
std::vector<Value> split_from_right(Evaluation& evaluation, const Text& text, const Text* separator, std::int64_t most);
/// The lines, as Python's splitlines cuts them, with their ends or without.
std::vector<Value> split_lines(Evaluation& evaluation, const Text& text, bool keep_ends);
/// The items with the separator between them. With `convert`, each is made a string first; else others are errors.
const Text* join(Evaluation& evaluation, const Text& separator, const Value& items, bool convert);
const Text* in_case(Evaluation& evaluation, const Text& text, Case wanted);
const Text* capitalize(Evaluation& evaluation, const Text& text);

}  // namespace octavo::jinja
