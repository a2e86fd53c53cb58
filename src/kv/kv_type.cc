// The names of the KV cache's element types.
#include <array>

#include "base/error.h"
#include "octavo/kv/types.h"

namespace octavo {
namespace {

struct KvTypeName {
  KvType type;
  std::string_view name;
};
constexpr std::array<KvTypeName, 5> kNames = {{{KvType::kI16, "i16"},
                                               {KvType::kF16, "f16"},
                                               {KvType::kBF16, "bf16"},
                                               {KvType::kQ8_0, "q8_0"},
                                               {KvType::kF32, "f32"}}};

}  // namespace

std::string_view kv_type_name(KvType type) {
  for (const KvTypeName& row : kNames) {
    if (row.type == type) return row.name;
  }
  OCTAVO_CHECK(false, "KV type {}", static_cast<int>(type));
}

Result<KvType> parse_kv_type(std::string_view name) {
  for (const KvTypeName& row : kNames) {
    if (row.name == name) return row.type;
  }
  return fail("KV type: found \"{}\", expected i16, f16, bf16, q8_0 or f32", name);
}

}  // namespace octavo
