// The forms in which the floats of a vector stand in an answer.
//
// Free functions without state; any thread.
#pragma once

#include <span>

#include "api/call/vector_form.h"
#include "json/json_writer.h"

namespace octavo {

/// Writes a vector of this kind.
void write_vector(std::span<const float> floats, VectorKind kind, JsonWriter json);

}  // namespace octavo
