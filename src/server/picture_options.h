// The option for a server that takes pictures by their addresses: the function that fetches them.
//
// A value. The function is called by PictureFetches, on threads of its own.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "api/call/picture_addresses.h"

namespace octavo::server {

struct PictureOptions {
  /// Fetches pictures, at most `most_bytes` together, each counted as often as the body has it; the results are in the
  /// order of the addresses. It ends soon once the stop is asked for. Empty: addresses are refused.
  std::function<std::vector<Result<FetchedPicture>>(std::span<const PictureAddress> addresses, std::uint64_t most_bytes,
                                                    const std::stop_token& stop)>
      fetch = {};
};

}  // namespace octavo::server
