#include "source/open_model.h"

#include <array>
#include <fstream>
#include <string_view>

#include "source/folder/folder_source.h"
#include "source/gguf/gguf_file.h"
#include "source/gguf/gguf_shards.h"
#include "source/gguf/split_by_key_head.h"

namespace octavo {

Result<std::unique_ptr<const ModelSource>> open_model(const std::filesystem::path& path, const std::stop_token& stop,
                                                      Math math) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (!FolderSource::is_model(path))
      return fail("{}: is a folder without config.json, expected a model", path.string());
    OCTAVO_TRY(FolderSource folder, FolderSource::open(path, stop, math));
    return std::make_unique<const FolderSource>(std::move(folder));
  }
  OCTAVO_TRY(GgufFile file, GgufFile::open(path, stop));
  if (!GgufShards::is_shard(file)) return SplitByKeyHead::of(std::make_unique<const GgufFile>(std::move(file)));
  OCTAVO_TRY(GgufShards shards, GgufShards::open(std::move(file), stop));
  return SplitByKeyHead::of(std::make_unique<const GgufShards>(std::move(shards)));
}

Result<std::unique_ptr<const ModelSource>> open_encoder(const std::filesystem::path& path,
                                                        const std::stop_token& stop) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return open_model(path, stop);
  OCTAVO_TRY(FolderSource tower, FolderSource::open_tower(path, stop));
  return std::make_unique<const FolderSource>(std::move(tower));
}

bool has_encoder(const std::filesystem::path& folder) { return FolderSource::has_tower(folder); }

bool begins_as_model(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return FolderSource::is_model(path);
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::array<char, 4> magic{};
  return std::ifstream(path, std::ios::binary).read(magic.data(), magic.size()) &&
         std::string_view(magic.data(), magic.size()) == "GGUF";
}

}  // namespace octavo
