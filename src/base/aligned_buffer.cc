#include "base/aligned_buffer.h"

#include <sys/mman.h>

namespace octavo {

void advise_huge_pages(void* data, std::size_t bytes) {
  // The advice is for whole huge pages; a system without it refuses the call, which does no harm.
  if (bytes >= kHugePageBytes) ::madvise(data, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
}

}  // namespace octavo
