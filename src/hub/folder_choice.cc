#include "hub/folder_choice.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "hub/file_choice.h"
#include "source/shard_name.h"

namespace octavo::hub {
namespace {

constexpr std::string_view kConfig = "config.json", kWhole = "model.safetensors",
                           kIndex = "model.safetensors.index.json";
constexpr std::string_view kBeside[] = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                        "generation_config.json", "preprocessor_config.json", "processor_config.json",
                                        // The files of sentence-transformers.
                                        kModules, "config_sentence_transformers.json", "sentence_bert_config.json",
                                        "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors",
                                        "3_Dense/config.json", "3_Dense/model.safetensors", "1_LogitScore/config.json"};
constexpr std::uint32_t kMaxParts = 99999;  // all that five digits write; opening the folder refuses too many

/// All parts of the largest complete set of parts; empty: there is none.
std::vector<std::size_t> parts_of(std::span<const std::string> paths) {
  std::vector<std::size_t> parts;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto part = ShardName::parse(paths[i], ".safetensors", kMaxParts);
    if (!part || part->stem != "model" || part->count < count) continue;
    if (part->count > count) parts.clear();
    count = part->count;
    parts.push_back(i);
  }
  return parts.size() == count ? parts : std::vector<std::size_t>();
}

}  // namespace

bool is_beside_weights(std::string_view name) {
  return name == kConfig || name == kIndex || std::ranges::find(kBeside, name) != std::end(kBeside);
}

std::vector<std::size_t> folder_files(std::span<const std::string> paths) {
  const auto find = [&](std::string_view name) { return std::ranges::find(paths, name) - paths.begin(); };
  const auto add = [&](std::string_view name, std::vector<std::size_t>& files) {
    const auto at = find(name);
    if (at != std::ranges::ssize(paths)) files.push_back(static_cast<std::uint64_t>(at));
    return at != std::ranges::ssize(paths);
  };
  std::vector<std::size_t> files;
  if (!add(kConfig, files)) return {};
  if (add(kIndex, files)) {
    const std::vector<std::size_t> parts = parts_of(paths);
    files.insert(files.end(), parts.begin(), parts.end());
    if (parts.empty() && !add(kWhole, files)) return {};
  } else if (!add(kWhole, files)) {
    return {};
  }
  for (const std::string_view name : kBeside) add(name, files);
  return files;
}

Result<ModelChoice> choose_model(std::span<const std::string> paths, std::string_view wanted) {
  if (lower_case(wanted) == kFolderType) return ModelChoice{.files = folder_files(paths), .is_folder = true};
  OCTAVO_TRY(std::vector<std::size_t> files, choose_files(paths, wanted));
  if (!files.empty() || !wanted.empty()) return ModelChoice{.files = std::move(files)};
  return ModelChoice{.files = folder_files(paths), .is_folder = true};
}

}  // namespace octavo::hub
