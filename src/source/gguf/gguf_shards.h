// A model in several GGUF files, as llama.cpp's gguf-split cuts it: NAME-00001-of-00003.gguf and so on.
//
// The first file has the metadata; each has some of the tensors and three keys of its own: split.no (from 0),
// split.count and split.tensors.count (of all files together). Above this the files are one row of bytes.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "source/gguf/gguf_file.h"

namespace octavo {

class GgufShards final : public ModelSource {
 public:
  /// Whether the file says that it is one of several shards.
  static bool is_shard(const GgufFile& file);

  /// Opens all shards beside `named`, which is any of them. Errors: the name does not tell where the others are; some
  /// are missing (it names them); one is no part of this model; a stop was asked for.
  static Result<GgufShards> open(GgufFile named, const std::stop_token& stop = {});

  /// The model of these files, in their order. Error: one is no part of it, with the key that shows this.
  static Result<GgufShards> join(std::vector<GgufFile> shards);

  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  void prefetch(std::uint64_t offset, std::uint64_t size) const override;
  void drop(std::uint64_t offset, std::uint64_t size) const override;

 private:
  GgufShards() = default;
  Result<void> add_tensors(std::uint64_t expected);
  /// The index of the shard that has the byte at `offset`.
  std::size_t shard_at(std::uint64_t offset) const;

  std::vector<GgufFile> shards_;
  std::vector<std::uint64_t> begins_;  // [shards] the offset of each in the row of bytes
  SourceFiles files_;
  SourceDirectory directory_;  // the first shard's keys, and all tensors
};

}  // namespace octavo
