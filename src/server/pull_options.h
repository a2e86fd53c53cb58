// The options of a server whose clients may have models fetched: whoever fetches one, and the bounds of that.
//
// Values. The functions are called by a ModelPuller: check_name() on the I/O thread, fetch() on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/result.h"

namespace octavo::server {

/// The part of the file being fetched that is there. It is told first before a byte of the file comes.
struct FetchProgress {
  std::string digest;  // "sha256:0123..."
  std::uint64_t completed_bytes = 0, total_bytes = 0;
};

struct FetchCall {
  std::string name;
  /// Asked when the sizes are known, before the first byte, with how many are to come. An error ends the fetch.
  std::function<Result<void>(std::uint64_t bytes)> admit;
  std::function<void(const FetchProgress&)> on_progress;
  std::stop_token stop;  // asked for: the fetch ends with an error within a second, and what came of it stays
};

struct PullOptions {
  /// Fetches a model, or finds it whole. True: reading the entries anew (ReadEntries) finds it among them, or another
  /// version of it; false: all that is known. None: clients may have nothing fetched.
  std::function<Result<bool>(const FetchCall&)> fetch = {};
  /// Error: it is no name of a model that can be fetched.
  std::function<Result<void>(std::string_view name)> check_name = {};
  std::uint64_t max_bytes = 0;         // that fetches may write, all together; 0: any number
  std::vector<std::string> keys = {};  // names of those that may; "*": all. Without keys everybody may
};

}  // namespace octavo::server
