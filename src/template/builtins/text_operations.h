// The operations that string methods and filters share.
#pragma once

#include "template/values/evaluation.h"
#include "template/values/unicode.h"

namespace octavo::jinja {

enum class Side : std::uint8_t { kBoth, kLeft, kRight };

/// The text without `characters` at its ends; null: without spaces.
const Text* strip(Evaluation& evaluation, const Text& text, const Text* characters, Side side);
/// The text with up to `count` occurrences of `old` replaced; all of them where `count` is below 0.
const Text* replace(Evaluation& evaluation, const Text& text, const Text& old, const Text& replacement,
                    std::int64_t count);
/// The parts between separators, or between runs of spaces where `separator` is null; at most `most` cuts, or any
/// number below 0.
std::vector<Value> split(Evaluation& evaluation, const Text& text, const Text* separator, std::int64_t most);
std::vector<Value> split_from_right(Evaluation& evaluation, const Text& text, const Text* separator, std::int64_t most);
/// The lines, with or without their ends, as Python's splitlines() cuts them.
std::vector<Value> split_lines(Evaluation& evaluation, const Text& text, bool keep_ends);
/// The items with the separator between them. With `convert` each item becomes a string first; else other items fail.
const Text* join(Evaluation& evaluation, const Text& separator, const Value& items, bool convert);
const Text* in_case(Evaluation& evaluation, const Text& text, Case wanted);
const Text* capitalize(Evaluation& evaluation, const Text& text);

}  // namespace octavo::jinja
