#include "kernels/dispatch.h"

#include <utility>

#include "base/error.h"
#include "kernels/isa/tables.h"

namespace octavo {

const KernelTable& kernel_table(IsaLevel level, Bits bits) {
  OCTAVO_CHECK(isa_supported(level), "level {}", isa_name(level));
  [[maybe_unused]] const bool portable = bits == Bits::kPortable;
  switch (level) {
#if OCTAVO_HAS_SCALAR
    case IsaLevel::kScalar: return portable ? *octavo_kernels_scalar_portable() : *octavo_kernels_scalar();
#endif
#if OCTAVO_HAS_AVX2
    case IsaLevel::kAvx2: return *octavo_kernels_avx2(portable);
#endif
#if OCTAVO_HAS_AVXVNNI
    case IsaLevel::kAvxVnni: return *octavo_kernels_avxvnni(portable);
#endif
#if OCTAVO_HAS_AVX512VNNI
    case IsaLevel::kAvx512Vnni: return *octavo_kernels_avx512vnni();
#endif
#if OCTAVO_HAS_AMX
    case IsaLevel::kAmx: return *octavo_kernels_amx();
#endif
#if OCTAVO_HAS_AMXBF16
    case IsaLevel::kAmxBf16: return portable ? *octavo_kernels_amx() : *octavo_kernels_amxbf16();
#endif
#if OCTAVO_HAS_NEON
    case IsaLevel::kNeon: return *octavo_kernels_neon(portable);
#endif
    default: break;
  }
  std::unreachable();  // the check above has ended the program
}

}  // namespace octavo
