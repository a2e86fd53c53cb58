// The names of the files of a model in several files: NAME-00001-of-00003.gguf (llama.cpp's gguf-split), and the names
// of transformers, with another suffix.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace octavo {

struct ShardName {
  /// The most files of a model; each is open while the model is.
  static constexpr std::uint32_t kMaxCount = 512;

  static constexpr std::string_view kGguf = ".gguf";

  std::string stem;          // "NAME"
  std::uint32_t number = 0;  // the number of the shard, from 1 to count
  std::uint32_t count = 0;   // the number of shards, from 1 to the most that was asked for

  /// Parses a file's name, which may have folders before it; none: the name has another form, or tells of more than
  /// `most` files.
  static std::optional<ShardName> parse(std::string_view file_name, std::string_view suffix = kGguf,
                                        std::uint32_t most = kMaxCount);

  /// The name of another shard of the same GGUF model; `of_number` counts from 1.
  std::string file_name(std::uint32_t of_number) const;
};

/// The name of a model by its file's name, without .gguf and without the numbers of a shard.
std::string model_stem(const std::filesystem::path& path);

}  // namespace octavo
