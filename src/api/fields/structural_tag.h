// Structural tags: answers of free text in which some marks open values of a form.
//
//     {"structures": [{"begin": "<function=time>", "schema": {...}, "end": "</function>"}], "triggers": ["<function="]}
//     {"format": {"type": "triggered_tags", "triggers": ["<function="], "tags": [{"begin": "<function=time>",
//                 "content": {"type": "json_schema", "json_schema": {...}}, "end": "</function>"}]}}
//
// The first is the form of vLLM 0.8 and SGLang, the second that of xgrammar. A free function; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "api/call/api_error.h"
#include "json/json_cursor.h"
#include "octavo/constraint.h"
#include "octavo/token.h"

namespace octavo {

inline constexpr std::size_t kMaxStructures = 128, kMaxTriggers = 32, kMaxMarkBytes = 1024;

/// The grammar and the rules that it names. `token_of` gives the single token that a text becomes; nothing: several or
/// none.
ApiResult<ConstraintSource> structural_tag(const JsonCursor& tag,
                                           const std::function<std::optional<TokenId>(std::string_view)>& token_of);

}  // namespace octavo
