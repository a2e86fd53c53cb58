// A repository in the hub's cache, in the layout of huggingface_hub, so that each tool finds what another has fetched:
//
//     models--ORG--REPO/blobs/HASH              files under their hashes; HASH.incomplete while they are fetched
//     models--ORG--REPO/refs/main               the commit of a branch
//     models--ORG--REPO/snapshots/COMMIT/PATH   links to blobs, relative
//     .locks/models--ORG--REPO/HASH.lock        held by who fetches the file
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace octavo::hub {

class CachedRepo {
 public:
  CachedRepo(const std::filesystem::path& cache, const std::string& repo);

  std::filesystem::path blob(const std::string& hash) const { return folder_ / "blobs" / hash; }
  std::filesystem::path partial(const std::string& hash) const { return folder_ / "blobs" / (hash + ".incomplete"); }
  std::filesystem::path lock(const std::string& hash) const { return locks_ / (hash + ".lock"); }
  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Makes the blob `hash` visible at `path` in a snapshot, and gives the path of the link.
  Result<std::filesystem::path> link(const std::string& commit, const std::string& path, const std::string& hash) const;
  /// Lets the branch main name a commit.
  Result<void> set_main(const std::string& commit) const;

  /// The snapshots: main's, if it exists, then the others, the last changed first.
  std::vector<std::filesystem::path> snapshots() const;

 private:
  std::filesystem::path folder_, locks_;
};

/// The files below a folder of which models may be made (.gguf, .safetensors and the files beside these), as sorted
/// paths from it; at most some thousand of each kind, and at most eight folders deep.
std::vector<std::string> files_in(const std::filesystem::path& folder);

/// The repository of a folder in the cache: "models--ORG--REPO" is ORG/REPO. None: the folder has another form of name.
std::optional<std::string> repo_of_folder(const std::string& name);

}  // namespace octavo::hub
