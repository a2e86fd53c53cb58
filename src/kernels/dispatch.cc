#include "kernels/dispatch.h"

#include <utility>

#include "base/error.h"
#include "kernels/isa/tables.h"

namespace octavo {

const KernelTable& kernel_table(IsaLevel level) {
  OCTAVO_CHECK(isa_supported(level), "level {}", isa_name(level));
  switch (level) {
#if OCTAVO_HAS_SCALAR
    case IsaLevel::kScalar: return *octavo_kernels_scalar();
#endif
#if OCTAVO_HAS_AVX2
    case IsaLevel::kAvx2: return *octavo_kernels_avx2();
#endif
#if OCTAVO_HAS_AVXVNNI
    case IsaLevel::kAvxVnni: return *octavo_kernels_avxvnni();
#endif
#if OCTAVO_HAS_AVX512VNNI
    case IsaLevel::kAvx512Vnni: return *octavo_kernels_avx512vnni();
#endif
#if OCTAVO_HAS_NEON
    case IsaLevel::kNeon: return *octavo_kernels_neon();
#endif
    default: break;
  }
  std::unreachable();  // the check above has ended the program
}

}  // namespace octavo
