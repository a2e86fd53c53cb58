// A model's source and some tensors of another one as one source: a model with the draft head that lies in a file of
// its own.
//
// Above this both are one row of bytes, the model's first. Keys are the model's. It owns the other source; the model's
// must outlive it.
#pragma once

#include <functional>
#include <memory>

#include "source/model_source.h"

namespace octavo {

class JoinedSource final : public ModelSource {
 public:
  /// Joins the model's tensors that `takes` does not want with those of `other` that it wants, by their names.
  JoinedSource(const ModelSource& model, std::unique_ptr<const ModelSource> other,
               const std::function<bool(std::string_view)>& takes);

  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  void prefetch(std::uint64_t offset, std::uint64_t size) const override;
  void drop(std::uint64_t offset, std::uint64_t size) const override;

 private:
  /// The source that has the byte at `offset`, which becomes an offset in it.
  const ModelSource& source_at(std::uint64_t& offset) const;

  const ModelSource& model_;
  std::unique_ptr<const ModelSource> other_;
  std::uint64_t begin_of_other_;  // the offset at which the other source begins
  SourceFiles files_;
  SourceDirectory directory_;
};

}  // namespace octavo
