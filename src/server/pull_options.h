// The options for a server whose clients may have models fetched: the function that fetches one, and its bounds.
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

/// The part of the file being fetched that has come. It is first reported before a byte of the file has come.
struct FetchProgress {
  std::string digest;  // "sha256:0123..."
  std::uint64_t completed_bytes = 0, total_bytes = 0;
};

struct FetchCall {
  std::string name;
  /// Asked once sizes are known, before the first byte, with the bytes to come. An error ends the fetch.
  std::function<Result<void>(std::uint64_t bytes)> admit;
  std::function<void(const FetchProgress&)> on_progress;
  std::stop_token stop;  // once asked for, the fetch ends with an error within a second, and what has come stays
};

struct PullOptions {
  /// Fetches a model, or finds that it is complete. True: the entries, when read again (ReadEntries), have this model
  /// or a new version of it; false: all of it is known already. Empty: clients may have nothing fetched.
  std::function<Result<bool>(const FetchCall&)> fetch = {};
  /// Error: this is no name of a model that can be fetched.
  std::function<Result<void>(std::string_view name)> check_name = {};
  std::uint64_t max_bytes = 0;         // the most that all fetches may write together; 0: no limit
  std::vector<std::string> keys = {};  // the names of keys that may pull; "*": all. Without keys, everybody may
};

}  // namespace octavo::server
