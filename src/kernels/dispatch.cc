#include "kernels/dispatch.h"

#include "base/error.h"
#include "kernels/isa/tables.h"

namespace octavo {

const KernelTable& kernel_table(IsaLevel level) {
  OCTAVO_CHECK(isa_supported(level), "level {}", isa_name(level));
  switch (level) {
#if defined(__x86_64__)
    case IsaLevel::kAvx2: return *octavo_kernels_avx2();
    case IsaLevel::kAvxVnni: return *octavo_kernels_avxvnni();
    case IsaLevel::kAvx512Vnni: return *octavo_kernels_avx512vnni();
#elif defined(__aarch64__)
    case IsaLevel::kNeon: return *octavo_kernels_neon();
#endif
    default: return *octavo_kernels_scalar();
  }
}

}  // namespace octavo
