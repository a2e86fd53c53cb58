// A model by its name on the hub: found in the cache, or fetched into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hub/hub_client.h"
#include "hub/model_ref.h"
#include "hub/retry.h"
#include "hub/settings.h"

namespace octavo::hub {

/// How far a pull has come.
struct PullProgress {
  std::uint64_t done_bytes = 0, total_bytes = 0;  // of all files together; the total may be 0: not known yet
  std::string_view hash = {};                     // of the file that is fetched; valid while it is told
  std::uint64_t file_bytes = 0, file_size = 0;    // what is there of that file, and how large it is
};

/// Told what is done, by the thread that pulls.
struct PullEvents {
  Say say;  // a line for the user: what is fetched, waited for, tried again
  /// A file that is fetched is told of before its first byte comes, with what is there of it.
  std::function<void(const PullProgress&)> progress;
  std::stop_token stop = {};  // asked for: what is fetched ends with an error, and what came of it stays
  /// Asked once, when the sizes are known, whether so many bytes may come; an error ends the pull. None: they may.
  std::function<Result<void>(std::uint64_t bytes)> admit = {};
};

/// The model's file, of several the first, as it lies in the cache, or the folder of a model of safetensors; none: it
/// is not there, or not all of it. Nothing is asked of the hub. Error: the name means several of the files there.
Result<std::optional<std::filesystem::path>> find_cached(const Settings& settings, const ModelRef& ref);

/// Asks the hub which files `ref` means now, and fetches those that are not there. Gives the model's file, of several
/// the first, or its folder. Errors: offline; what the hub answered; no or several files of that name; no room.
Result<std::filesystem::path> pull(const Settings& settings, const ModelRef& ref, const PullEvents& events);

/// Fetches a file by its address into Settings::models. `sha256`: 64 hexadecimal digits.
Result<std::filesystem::path> pull_url(const Settings& settings, const std::string& url, const std::string& sha256,
                                       const PullEvents& events);

}  // namespace octavo::hub
