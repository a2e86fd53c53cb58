#include "gguf/file_head.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace octavo {
namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;

}  // namespace

void FileHead::Unmap::operator()(std::byte* data) const { ::munmap(data, size); }

Result<FileHead> FileHead::reserve(const MappedFile& file) {
  const std::size_t room = std::min<std::size_t>(file.bytes().size(), kMaxBytes);
  void* data = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return fail("{}: no room for {} bytes of metadata: {}", file.path().string(), room,
                std::generic_category().message(errno));
  FileHead head;
  head.memory_ = std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(data), Unmap{room});
  head.file_bytes_ = file.bytes().size();
  return head;
}

Result<void> FileHead::load(const MappedFile& file, std::uint64_t end) {
  if (end <= loaded_) return {};
  if (end > kMaxBytes)
    return fail("{}: metadata and tensor directory have more than {} bytes", file.path().string(), kMaxBytes);
  const std::uint64_t until = std::min({std::max(end, loaded_ + kReadBytes), std::uint64_t{file_bytes_}, kMaxBytes});
  OCTAVO_TRY_VOID(file.read(loaded_, {memory_.get() + loaded_, until - loaded_}));
  loaded_ = until;
  return {};
}

}  // namespace octavo
