// A model by its name on the hub: found in the cache, or fetched into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "hub/hub_client.h"
#include "hub/model_ref.h"
#include "hub/retry.h"
#include "hub/settings.h"

namespace octavo::hub {

/// Told what is done, by the thread that pulls.
struct PullEvents {
  Say say;  // a line for the user: what is fetched, waited for, tried again
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress;  // of all files together
  std::stop_token stop = {};  // asked for: what is fetched ends with an error, and what came of it stays
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
