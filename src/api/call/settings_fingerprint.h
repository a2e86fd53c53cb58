// What a server's settings add to what a request asks for: two servers with the same model may answer one request with
// other words, since their templates or defaults differ. A free function without state; any thread.
#pragma once

#include <string>

#include "api/call/completion.h"
#include "octavo/model_info.h"

namespace octavo {

/// "set_" and 16 hexadecimal digits over the settings that decide what becomes of a request: the chat template and its
/// names, defaults of sampling, limits, reasoning, end tokens and the reading of schemas.
std::string settings_fingerprint(const ServedModel& model, const ModelInfo& info);

}  // namespace octavo
