#include "base/page_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

std::size_t page_bytes() { return to_size(::sysconf(_SC_PAGESIZE)); }

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

// MAP_NORESERVE is not used: without it the system refuses at once what is more than all of its memory. Pages of the
// map that are not accessible do not count.
PageMemory::PageMemory(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const std::size_t page = page_bytes(), slack = 2 * kHugePageBytes;
  if (bytes > SIZE_MAX - slack - page) throw std::bad_alloc();
  const std::size_t used = round_up(bytes, page);
  map_bytes_ = used + slack;
  void* const map = ::mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  // Nearly 2 MiB (at least a page) lie in front of the data, and the rest of the slack after it.
  const std::size_t offset =
      round_up(reinterpret_cast<std::uintptr_t>(map) + page, kHugePageBytes) - reinterpret_cast<std::uintptr_t>(map);
  data_ = static_cast<std::uint8_t*>(map) + offset;
  if (::mprotect(data_, used, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(map, map_bytes_);
    throw std::bad_alloc();
  }
  map_ = map;
  advise_huge_pages(data_, used);
}

PageMemory::~PageMemory() {
  if (map_ != nullptr) ::munmap(map_, map_bytes_);
}

PageMemory::PageMemory(PageMemory&& other) noexcept { *this = std::move(other); }

PageMemory& PageMemory::operator=(PageMemory&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void PageMemory::release(std::size_t begin, std::size_t end) {
  OCTAVO_CHECK(begin <= end && end <= size_, "{} to {} of {} bytes", begin, end, size_);
  const std::size_t page = page_bytes();
  const std::size_t first = round_up(begin, page);
  const std::size_t last = end == size_ ? round_up(end, page) : end / page * page;
  if (first >= last) return;
  // A system that cannot do this keeps the pages, which is no worse than before.
  ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

std::size_t PageMemory::resident_bytes() const {
  constexpr std::size_t kPagesAtATime = 1 << 18;
  const std::size_t page = page_bytes(), used = round_up(size_, page);
  std::vector<unsigned char> is_there(std::min(kPagesAtATime, used / page));
  std::size_t bytes = 0;
  for (std::size_t begin = 0; begin < used; begin += kPagesAtATime * page) {
    const std::size_t length = std::min(kPagesAtATime * page, used - begin);
    // The system's answer is about memory that is only asked for; the call itself reads nothing.
    if (::mincore(const_cast<std::uint8_t*>(data_) + begin, length, is_there.data()) != 0) continue;
    for (std::size_t i = 0; i < length / page; ++i) bytes += (is_there[i] & 1U) != 0 ? page : 0;
  }
  return bytes;
}

namespace {

bool is_allowed(std::uint64_t bytes) {
  try {
    const PageMemory probe(bytes);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

std::uint64_t PageMemory::allowed_bytes(std::uint64_t bytes) {
  for (std::uint64_t tried = bytes; tried > 0; tried /= 2) {
    if (is_allowed(tried)) return tried == bytes ? bytes : tried / 2;
  }
  return 0;
}

}  // namespace octavo
