#include "api/call/token_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace octavo {

ApiResult<std::vector<TokenId>> read_token_ids(const JsonCursor& given, const boost::json::array& ids, int num_tokens,
                                               std::string_view code) {
  std::vector<TokenId> tokens;
  tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = as_integer(ids[i]);
    if (!id || *id < 0 || *id >= num_tokens)
      return refused(given[i].wrong_value(fmt::format("a token id from 0 to {}", num_tokens - 1), code));
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

ApiResult<std::vector<TokenId>> check_token_ids(const JsonCursor& given, std::span<const TokenId> ids, int num_tokens) {
  const auto wrong = std::ranges::find_if(ids, [&](TokenId id) { return id < 0 || id >= num_tokens; });
  if (wrong == ids.end()) return std::vector<TokenId>(ids.begin(), ids.end());
  const std::string place = fmt::format("{}[{}]", given.path(), wrong - ids.begin());
  return refused({.path = place,
                  .message = fmt::format("{}: found the number {}, expected a token id from 0 to {}", place, *wrong,
                                         num_tokens - 1),
                  .code = "invalid_type"});
}

}  // namespace octavo
