#include "source/gguf/file_head.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>

namespace octavo {
namespace {

constexpr std::uint64_t kStepBytes = std::uint64_t{1} << 20;  // a multiple of the page size

}  // namespace

Result<void> FileHead::load(std::uint64_t end) {
  if (end <= loaded_) return {};
  if (end > kMaxBytes)
    return fail("{}: metadata and tensor directory have more than {} bytes", file_.path().string(), kMaxBytes);
  const std::span<const std::byte> bytes = file_.bytes();
  const std::uint64_t until = std::min((end + kStepBytes - 1) / kStepBytes * kStepBytes, std::uint64_t{bytes.size()});
  const std::span<std::byte> place(const_cast<std::byte*>(bytes.data()) + loaded_, until - loaded_);
  void* memory =
      ::mmap(place.data(), place.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (memory == MAP_FAILED)
    return fail("{}: no memory for {} bytes of metadata: {}", file_.path().string(), until,
                std::generic_category().message(errno));
  OCTAVO_TRY_VOID(file_.read(loaded_, place));
  loaded_ = until;
  return {};
}

}  // namespace octavo
