#include "api/call/token_ids.h"

#include <fmt/format.h>

#include "api/call/api_error.h"
#include "json/json_cursor.h"

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

}  // namespace octavo
