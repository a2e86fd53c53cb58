#include "cli/serve/pulled_models.h"

#include <algorithm>
#include <utility>

namespace octavo::cli {

Result<void> PulledModels::check_room(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (models_.size() < kMost || std::ranges::find(models_, name, &Model::name) != models_.end()) return {};
  return fail("{}: {} models were fetched since the server began, expected no more", name, kMost);
}

bool PulledModels::add(const std::string& name, std::filesystem::path path) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find(models_, name, &Model::name);
  if (same == models_.end()) {
    models_.push_back({.name = name, .path = std::move(path)});
    return true;
  }
  return std::exchange(same->path, path) != path;
}

std::vector<PulledModels::Model> PulledModels::list() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

}  // namespace octavo::cli
