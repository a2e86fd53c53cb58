#include "engine/fingerprint.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/cpu_info.h"
#include "model/content_hash.h"

namespace octavo {
namespace {

constexpr std::string_view kGnu{"GNU\0", 4};

std::span<const std::byte> memory_of(const dl_phdr_info& object, const ElfW(Phdr) & segment) {
  // The loader tells addresses as numbers.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return {reinterpret_cast<const std::byte*>(object.dlpi_addr + segment.p_vaddr), segment.p_memsz};
}

/// The linker's hash of the whole program or library, if these notes have it.
std::span<const std::byte> build_id_of(std::span<const std::byte> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    const std::size_t name_bytes = (note.n_namesz + 3U) & ~3U, id_bytes = (note.n_descsz + 3U) & ~3U;
    const std::span<const std::byte> rest = notes.subspan(sizeof(note));
    if (rest.size() < name_bytes + id_bytes) return {};
    const std::string_view name(reinterpret_cast<const char*>(rest.data()), note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && name == kGnu) return rest.subspan(name_bytes, note.n_descsz);
    notes = rest.subspan(name_bytes + id_bytes);
  }
  return {};
}

struct Search {
  std::uintptr_t address;  // of something in the object that is looked for
  ContentHash build;
};

/// For the object that has the address: its build id, or, where the linker gave none, its code itself.
int hash_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::span segments(object->dlpi_phdr, object->dlpi_phnum);
  std::span<const std::byte> code, build_id;
  for (const ElfW(Phdr) & segment : segments) {
    const std::span<const std::byte> memory = memory_of(*object, segment);
    if (segment.p_type == PT_NOTE && build_id.empty()) build_id = build_id_of(memory);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory.data());
    if (segment.p_type == PT_LOAD && search.address >= begin && search.address - begin < memory.size()) code = memory;
  }
  if (code.empty()) return 0;
  search.build = hash_of(build_id.empty() ? code : build_id);
  return 1;
}

ContentHash hash_of_build() {
  Search search{.address = reinterpret_cast<std::uintptr_t>(&hash_object), .build = {}};
  ::dl_iterate_phdr(hash_object, &search);
  return search.build;
}

}  // namespace

std::string system_fingerprint(std::string_view isa, std::string_view kv_type, std::string_view file_hash) {
  // The C library's sines and exponentials differ by its version, and by whether the processor has fused multiply-add.
  const std::string parts = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", hex_of(hash_of_build()), ::gnu_get_libc_version(),
                                        isa_supported(IsaLevel::kAvx2), isa, kv_type, file_hash);
  return fmt::format("fp_{:016x}", hash_of(std::as_bytes(std::span(parts))).low);
}

}  // namespace octavo
