// Token ids that a client sent. Free functions without state; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "api/call/api_error.h"
#include "json/json_cursor.h"
#include "octavo/token.h"

namespace octavo {

/// The elements of `ids`, an array at `given`, as token ids from 0 to num_tokens - 1. Error: an element is no such id;
/// the error has this code.
ApiResult<std::vector<TokenId>> read_token_ids(const JsonCursor& given, const boost::json::array& ids, int num_tokens,
                                               std::string_view code = "invalid_type");
/// Checks ids that replace what the body has at `given`, with the errors of read_token_ids().
ApiResult<std::vector<TokenId>> check_token_ids(const JsonCursor& given, std::span<const TokenId> ids, int num_tokens);

}  // namespace octavo
