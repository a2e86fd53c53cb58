// The models that clients of `octavo serve` have had fetched since it began: they are served besides its own. Any
// thread.
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
    std::string name;  // the name by which a client asked for it: ORG/REPO or ORG/REPO:TYPE
    std::filesystem::path path;
  };
  /// The most names: each makes reading the models slower, and a repository may have many files.
  static constexpr std::size_t kMost = 256;

  /// Error: there are too many names for another one.
  Result<void> check_room(const std::string& name) const;
  /// Adds a model. Whether it is new, or has another path than before.
  bool add(const std::string& name, std::filesystem::path path);
  std::vector<Model> list() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Model> models_;
};

}  // namespace octavo::cli
