#include "source/folder/folder_tensor.h"

#include <algorithm>

namespace octavo {

Result<void> FolderTensor::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (parts_.empty()) {
    const auto bytes = std::as_bytes(std::span(numbers_));
    std::ranges::copy(bytes.subspan(offset, out.size()), out.begin());
    return {};
  }
  const std::uint64_t part_bytes = parts_.front().stored->bytes;
  while (!out.empty()) {
    const std::uint64_t within = offset % part_bytes;
    const std::size_t size = std::min<std::uint64_t>(out.size(), part_bytes - within);
    OCTAVO_TRY_VOID(read_part(parts_[offset / part_bytes], within, out.first(size)));
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

Result<void> FolderTensor::read_part(const CheckpointTensor& part, std::uint64_t offset,
                                     std::span<std::byte> out) const {
  const MappedFile& file = part.file->file();
  if (swap_.is_none()) return file.read(part.stored->offset + offset, out);
  // Whole groups of rows are read as they lie, and sorted in memory.
  const std::uint64_t group = swap_.first * swap_.second * row_bytes_;
  const std::uint64_t begin = offset / group * group;
  const std::uint64_t end = std::min(part.stored->bytes, (offset + out.size() + group - 1) / group * group);
  std::vector<std::byte> stored(end - begin);
  OCTAVO_TRY_VOID(file.read(part.stored->offset + begin, stored));
  while (!out.empty()) {
    const std::uint64_t row = offset / row_bytes_, within = offset % row_bytes_;
    const std::size_t size = std::min<std::uint64_t>(out.size(), row_bytes_ - within);
    const std::uint64_t from = swap_.source_of(row) * row_bytes_ + within - begin;
    std::ranges::copy(std::span(stored).subspan(from, size), out.begin());
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

/// Calls visit(file, offset in the file, size) for the stored bytes that these are made of.
template <class Visit>
void FolderTensor::for_files(std::uint64_t offset, std::uint64_t size, const Visit& visit) const {
  if (parts_.empty()) return;
  const std::uint64_t part_bytes = parts_.front().stored->bytes;
  const std::uint64_t end = std::min(bytes(), offset + size);
  while (offset < end) {
    const CheckpointTensor& part = parts_[offset / part_bytes];
    const std::uint64_t within = offset % part_bytes, count = std::min(end - offset, part_bytes - within);
    visit(part.file->file(), part.stored->offset + within, count);
    offset += count;
  }
}

void FolderTensor::prefetch(std::uint64_t offset, std::uint64_t size) const {
  for_files(offset, size,
            [](const MappedFile& file, std::uint64_t at, std::uint64_t count) { file.prefetch(at, count); });
}

void FolderTensor::drop(std::uint64_t offset, std::uint64_t size) const {
  for_files(offset, size, [](const MappedFile& file, std::uint64_t at, std::uint64_t count) { file.drop(at, count); });
}

std::pair<std::size_t, std::uint64_t> FolderTensor::place() const {
  if (parts_.empty()) return {0, 0};
  return {parts_.front().file_index, parts_.front().stored->offset};
}

}  // namespace octavo
