#include "source/gguf/gguf_file.h"

#include <cstring>

#include "base/stop_check.h"
#include "source/gguf/file_head.h"
#include "source/gguf/gguf_parser.h"

namespace octavo {

Result<GgufFile> GgufFile::open(const std::filesystem::path& path, const std::stop_token& stop) {
  OCTAVO_TRY(auto map, MappedFile::open(path));
  FileHead head(map);
  const auto load = [&](std::uint64_t end) -> Result<void> {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    return head.load(end);
  };
  OCTAVO_TRY(GgufFile file, GgufParser(map.bytes(), load, path).parse());
  file.files_.modified_ns = map.modified_ns();
  file.map_ = std::move(map);
  return file;
}

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  return GgufParser(bytes, {}, name).parse();
}

Result<void> GgufFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (map_) return map_->read(offset, out);
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
    return fail("{}: {} bytes at offset {} are asked for, there are {}", name(), out.size(), offset, bytes_.size());
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

void GgufFile::prefetch(std::uint64_t offset, std::uint64_t size) const {
  if (map_) map_->prefetch(offset, size);
}

void GgufFile::drop(std::uint64_t offset, std::uint64_t size) const {
  if (map_) map_->drop(offset, size);
}

}  // namespace octavo
