#include "hub/folder_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "hub/file_choice.h"

namespace octavo::hub {
namespace {

constexpr std::string_view kConfig = "config.json", kWhole = "model.safetensors",
                           kIndex = "model.safetensors.index.json";
constexpr std::array<std::string_view, 4> kBeside = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                                     "generation_config.json"};

/// "model-00002-of-00005.safetensors": 2 and 5.
struct PartName {
  std::uint32_t number = 0, count = 0;

  static std::optional<PartName> parse(std::string_view name) {
    constexpr std::string_view kBegin = "model-", kMiddle = "-of-", kEnd = ".safetensors";
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
    name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
    const std::size_t middle = name.find(kMiddle);
    if (middle == std::string_view::npos) return std::nullopt;
    PartName part;
    const auto reads = [](std::string_view digits, std::uint32_t& value) {
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return error == std::errc() && end == digits.data() + digits.size();
    };
    if (!reads(name.substr(0, middle), part.number) || !reads(name.substr(middle + kMiddle.size()), part.count))
      return std::nullopt;
    return part.number >= 1 && part.number <= part.count ? std::optional(part) : std::nullopt;
  }
};

/// All parts of the largest number of them that is there whole; none: there is none.
std::vector<std::size_t> parts_of(std::span<const std::string> paths) {
  std::vector<std::size_t> parts;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto part = PartName::parse(paths[i]);
    if (!part || part->count < count) continue;
    if (part->count > count) parts.clear();
    count = part->count;
    parts.push_back(i);
  }
  return parts.size() == count ? parts : std::vector<std::size_t>();
}

}  // namespace

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
  if (wanted == kFolderType) return ModelChoice{.files = folder_files(paths), .is_folder = true};
  OCTAVO_TRY(std::vector<std::size_t> files, choose_files(paths, wanted));
  if (!files.empty() || !wanted.empty()) return ModelChoice{.files = std::move(files)};
  return ModelChoice{.files = folder_files(paths), .is_folder = true};
}

}  // namespace octavo::hub
