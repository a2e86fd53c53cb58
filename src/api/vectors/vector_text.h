// The forms in which the floats of a vector stand in an answer.
//
// Free functions without state; any thread.
#pragma once

#include <span>
#include <string>

#include "api/call/vector_form.h"

namespace octavo {

/// [0.5,-1]
void append_numbers(std::string& out, std::span<const float> floats);
/// The little-endian floats in base64, without quotes.
void append_base64(std::string& out, std::span<const float> floats);
/// A bit a float, 1 above 0, the first the highest of its byte: a list of bytes, each less `offset`.
void append_bits(std::string& out, std::span<const float> floats, int offset);

/// A vector of one of the kinds, with quotes where it is a text.
void append_vector(std::string& out, std::span<const float> floats, VectorKind kind);

}  // namespace octavo
