#include "engine/load/fingerprint.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <span>

#include "base/cpu_info.h"
#include "engine/load/build_digest.h"
#include "model/content_hash.h"

namespace octavo {

namespace {

std::string digits_of(const std::string& parts) {
  return fmt::format("{:016x}", hash_of(std::as_bytes(std::span(parts))).low);
}

}  // namespace

std::string system_fingerprint(Bits bits, IsaLevel isa, std::string_view kv_type, std::string_view file) {
  if (bits == Bits::kPortable)
    return "fp_portable_" + digits_of(fmt::format("{}\n{}\n{}", source_digest(), kv_type, file));
  // The C library's sines and exponentials depend on its version, and on whether the processor has fused multiply-add.
  const std::string parts = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", build_digest(), ::gnu_get_libc_version(),
                                        isa_supported(IsaLevel::kAvx2), isa_name(level_of_bits(isa)), kv_type, file);
  return "fp_" + digits_of(parts);
}

}  // namespace octavo
