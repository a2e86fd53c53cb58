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
#include "hub/settings.h"

namespace octavo::hub {

/// The progress of a pull.
struct PullProgress {
  std::uint64_t done_bytes = 0, total_bytes = 0;  // bytes of all files together; the total may be 0: not known yet
  std::string_view hash = {};                     // the hash of the file that is fetched, valid during the call
  std::uint64_t file_bytes = 0, file_size = 0;    // the bytes of that file that are there, and its size
};

/// The callbacks of a pull, which the thread that pulls calls.
struct PullEvents {
  Say say;  // gets a line for the user: a file is fetched, waited for, tried again
  /// Gets a file before its first byte comes, with the bytes of it that are there.
  std::function<void(const PullProgress&)> progress;
  std::stop_token stop = {};  // a stop, with which the fetching ends in an error; the bytes that came stay
  /// Asked once the sizes are known: whether so many bytes may come; an error ends the pull. None: they may.
  std::function<Result<void>(std::uint64_t bytes)> admit = {};
};

/// The files of a repository that a name stands for.
enum class PullKind : std::uint8_t {
  kModel,
  kModelToTalkTo,  // and the encoder of pictures beside the model, if there is one
  kModelWithAll,   // and the draft file, if there is one
  kEncoder,        // the encoder
  kDraft,          // the draft file; or a model, where the repository has none: an assistant is one of its own
};

/// The model's file, of several the first, as it lies in the cache, or the folder of a model of safetensors; none: it
/// is not there, or not all of it. Nothing is asked of the hub. Error: the name means several of the files there.
Result<std::optional<std::filesystem::path>> find_cached(const Settings& settings, const ModelRef& ref,
                                                         PullKind kind = PullKind::kModel);

/// The draft file beside a model's file, in its folder or in a folder MTP there. None: there is none.
std::optional<std::filesystem::path> find_draft_beside(const std::filesystem::path& model);

/// Asks the hub for the files that `ref` means now, and fetches those that are not there. Gives the model's first file,
/// or its folder. Errors: offline; the hub's answer; no file or several of that name; no room.
Result<std::filesystem::path> pull(const Settings& settings, const ModelRef& ref, const PullEvents& events,
                                   PullKind kind = PullKind::kModel);

/// Fetches a file by its address into Settings::models. `sha256` has 64 hexadecimal digits.
Result<std::filesystem::path> pull_url(const Settings& settings, const std::string& url, const std::string& sha256,
                                       const PullEvents& events);

}  // namespace octavo::hub
