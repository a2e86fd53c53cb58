#include "base/aligned_buffer.h"

#include <sys/mman.h>

namespace octavo {

void advise_huge_pages(void* data, std::size_t bytes) {
  // Whole pages only; a system without this kind of advice refuses it, which is as good.
  if (bytes >= kHugePageBytes) ::madvise(data, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
}

}  // namespace octavo
