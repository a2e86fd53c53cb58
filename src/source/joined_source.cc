#include "source/joined_source.h"

#include <algorithm>

namespace octavo {

JoinedSource::JoinedSource(const ModelSource& model, std::unique_ptr<const ModelSource> other,
                           const std::function<bool(std::string_view)>& takes)
    : model_(model), other_(std::move(other)), begin_of_other_(model.files().bytes), files_(model.files()) {
  files_.path = model.name() + " with " + other_->name();
  files_.bytes += other_->files().bytes;
  files_.num_files += other_->files().num_files;
  files_.modified_ns = std::max(files_.modified_ns, other_->files().modified_ns);
  for (const auto& [key, value] : model.metadata())
    if (MetadataValue* place = directory_.add(key)) *place = value;
  for (const SourceTensor& tensor : model.tensors()) {
    begin_of_other_ = std::max(begin_of_other_, tensor.offset + tensor.tensor.bytes());
    if (!takes(tensor.name)) directory_.add(tensor);
  }
  for (SourceTensor tensor : other_->tensors()) {
    if (!takes(tensor.name)) continue;
    tensor.offset += begin_of_other_;
    directory_.add(std::move(tensor));
  }
}

std::vector<std::span<const std::byte>> JoinedSource::heads() const {
  std::vector<std::span<const std::byte>> heads = model_.heads();
  for (const std::span<const std::byte> head : other_->heads()) heads.push_back(head);
  return heads;
}

const ModelSource& JoinedSource::source_at(std::uint64_t& offset) const {
  if (offset < begin_of_other_) return model_;
  offset -= begin_of_other_;
  return *other_;
}

// No tensor lies in both sources, so all bytes are in one of them.
Result<void> JoinedSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  return source_at(offset).read(offset, out);
}

void JoinedSource::prefetch(std::uint64_t offset, std::uint64_t size) const {
  source_at(offset).prefetch(offset, size);
}

void JoinedSource::drop(std::uint64_t offset, std::uint64_t size) const { source_at(offset).drop(offset, size); }

}  // namespace octavo
