#include "source/folder/folder_tensor.h"

#include <algorithm>

namespace octavo {

void FolderTensor::prefetch(std::uint64_t offset, std::uint64_t size) const {
  for (const StoredRange& range : ranges(offset, size)) range.file->prefetch(range.offset, range.bytes);
}

void FolderTensor::drop(std::uint64_t offset, std::uint64_t size) const {
  if (!may_drop()) return;
  for (const StoredRange& range : ranges(offset, size)) range.file->drop(range.offset, range.bytes);
}

Result<void> FolderNumbers::read(std::uint64_t offset, std::span<std::byte> out) const {
  std::ranges::copy(std::as_bytes(std::span(numbers_)).subspan(offset, out.size()), out.begin());
  return {};
}

}  // namespace octavo
