// The parts of a step of a tokenizer.json, which may be a sequence of steps. A free function; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "json/json_cursor.h"

namespace octavo {

/// The step, or the parts of a Sequence, whose member `name` lists them; none where there is no step.
JsonResult<std::vector<JsonCursor>> parts_of(const JsonCursor& step, std::string_view name);

}  // namespace octavo
