// Early files of Qwen3-Next, whose delta nets have one projection, ssm_in, with rows by key head: its Q, its K, the V
// of its value heads and their gates. Later files have two tensors instead, which this makes of it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "source/model_source.h"

namespace octavo {

class SplitByKeyHead final : public ModelSource {
 public:
  /// The model, with attn_qkv and attn_gate in place of each ssm_in; or as it is, where it has none or is of another
  /// architecture. Error: rows that do not fit the model's heads.
  static Result<std::unique_ptr<const ModelSource>> of(std::unique_ptr<const ModelSource> model);

  const SourceFiles& files() const override { return model_->files(); }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override { return model_->heads(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  void prefetch(std::uint64_t offset, std::uint64_t size) const override;
  void drop(std::uint64_t offset, std::uint64_t size) const override;

 private:
  /// Bytes of a tensor that was made, and where they are stored.
  struct Run {
    std::uint64_t begin, stored, bytes;
    std::uint64_t end() const { return begin + bytes; }
  };
  struct Heads {
    std::uint64_t num_keys = 0, key_dim = 0, values = 0;  // of a key head: rows of the V of its value heads
    std::uint64_t rows() const { return num_keys * 2 * (key_dim + values); }
  };

  explicit SplitByKeyHead(std::unique_ptr<const ModelSource> model);
  static Result<Heads> read_heads(const ModelSource& model);
  Result<void> add_tensors(const Heads& heads);
  /// Makes a tensor of parts of each key head's rows, each from a row on: those of all key heads, part by part.
  struct Part {
    std::uint64_t first, rows;
  };
  void make(const SourceTensor& stored, std::string name, const Heads& heads, std::span<const Part> parts);
  /// Calls visit(offset, size) with the stored bytes that these are, in their order, until it gives an error.
  template <class Visit>
  Result<void> for_stored(std::uint64_t offset, std::uint64_t size, const Visit& visit) const;

  std::unique_ptr<const ModelSource> model_;
  SourceDirectory directory_;
  std::deque<std::string> names_;      // of tensors that were made
  std::uint64_t begin_ = 0, end_ = 0;  // of these, behind all that are stored
  std::vector<Run> runs_;              // in their order, without gaps
};

}  // namespace octavo
