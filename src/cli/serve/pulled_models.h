// The models that clients of `octavo serve` had fetched since it began: it serves them beside its own. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"

namespace octavo::cli {

class PulledModels {
 public:
  struct Model {
    std::string name;  // by which it was asked for: ORG/REPO or ORG/REPO:TYPE
    std::filesystem::path path;
  };
  /// Each name makes the reading of models longer, and a file of the hub has many.
  static constexpr std::size_t kMost = 256;

  /// Error: there are so many names that this one has no room.
  Result<void> check_room(const std::string& name) const;
  /// Whether it is new, or lies elsewhere than before.
  bool add(const std::string& name, std::filesystem::path path);
  std::vector<Model> list() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Model> models_;
};

}  // namespace octavo::cli
