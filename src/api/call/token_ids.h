// Ids of tokens that a client sent. A free function without state; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "api/call/api_error.h"
#include "json/json_cursor.h"
#include "octavo/token.h"

namespace octavo {

/// The elements of `ids`, at which `given` stands, each from 0 to num_tokens - 1. Error: one of them is none, with this
/// code.
ApiResult<std::vector<TokenId>> read_token_ids(const JsonCursor& given, const boost::json::array& ids, int num_tokens,
                                               std::string_view code = "invalid_type");
/// Checks ids that stand in place of what the body has at `given`, as read_token_ids() does.
ApiResult<std::vector<TokenId>> check_token_ids(const JsonCursor& given, std::span<const TokenId> ids, int num_tokens);

}  // namespace octavo
