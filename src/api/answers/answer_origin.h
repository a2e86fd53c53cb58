// The members of an answer that say what it is drawn by, so that it can go on elsewhere where it breaks off.
//
// A free function without state; any thread.
#pragma once

#include "api/call/completion.h"
#include "json/json_writer.h"

namespace octavo {

/// Writes `system_fingerprint`, `seed` where the call has one, and `settings_fingerprint` where it asks for token ids.
void write_origin(const CompletionCall& call, const ServedModel& model, JsonWriter json);

}  // namespace octavo
