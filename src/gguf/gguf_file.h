// A GGUF file: header, typed metadata, tensor directory (format: ggml docs/gguf.md, versions 2 and 3).
//
// Every count, length and offset of the file is compared with the file's real size before anything
// is allocated for it. Owned by the engine; immutable after open(), so any thread may read it.
// Strings, names and tensor data are views into the mapped file and live as long as the GgufFile. Its head is a copy in
// memory, so that opening touches no page of the file (base/mapped_file.h says why).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace octavo {

enum class GgufType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr std::uint32_t kNumGgufTypes = 13;

/// "uint8", "string", "array" and so on; "unknown" for a number outside the enumeration.
std::string_view gguf_type_name(GgufType type);

struct GgufValue;

/// An array: fixed-size elements stay as they lie in the file and are decoded on demand.
struct GgufArray {
  GgufType element_type = GgufType::kUint8;
  std::uint64_t size = 0;
  std::span<const std::byte> bytes;       // fixed-size elements, little-endian, as they lie in the file
  std::vector<std::string_view> strings;  // element_type kString
  std::vector<GgufValue> arrays;          // element_type kArray
};

/// One metadata value. Integers are widened, floats too; `type` keeps what the file says.
struct GgufValue {
  GgufType type = GgufType::kUint8;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray> value;
};

/// One element of an array of fixed-size elements, widened; `index` is below array.size.
GgufValue gguf_array_element(const GgufArray& array, std::uint64_t index);

struct GgufTensor {
  std::string_view name;
  std::uint64_t offset = 0;         // from the start of the file
  std::vector<std::uint64_t> dims;  // ggml order: dims[0] is the row length; 1 to 4 of them
  Tensor tensor;                    // cols = dims[0], rows = the product of the others
};

class GgufFile {
 public:
  /// Maps a file, reads its head and checks it. Errors name the file and the offset, key or tensor; a head of more than
  /// FileHead::kMaxBytes is one.
  static Result<GgufFile> open(const std::filesystem::path& path);

  /// The same for bytes in memory, aligned to 8 or more and kept alive by the caller; `name` stands for the path in
  /// messages. file() must not be called on the result.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, const std::filesystem::path& name);

  const std::filesystem::path& path() const { return path_; }
  const MappedFile& file() const { return map_.value(); }
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// Header, metadata and tensor directory, as they lie in the file.
  std::span<const std::byte> head() const { return head_; }
  std::uint32_t version() const { return version_; }
  std::uint32_t alignment() const { return alignment_; }

  /// Metadata in the file's order, and by key (nullptr if absent).
  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const { return metadata_; }
  const GgufValue* find(std::string_view key) const;

  /// Typed look-ups. A missing key or another type is an error that names the key, what was found, what was
  /// expected. Integers of any width and sign are accepted where the value fits, floats of both widths.
  Result<std::uint64_t> get_u64(std::string_view key) const;
  Result<std::uint32_t> get_u32(std::string_view key) const;
  Result<float> get_f32(std::string_view key) const;
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string_view> get_string(std::string_view key) const;
  Result<std::span<const std::string_view>> get_strings(std::string_view key) const;
  Result<std::vector<float>> get_f32_array(std::string_view key) const;
  Result<std::vector<std::int32_t>> get_i32_array(std::string_view key) const;

  /// Tensors in the file's order, and by name (nullptr if absent). Empty for a vocabulary-only file.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find_tensor(std::string_view name) const;

 private:
  friend class GgufParser;
  GgufFile() = default;

  Result<const GgufValue*> require(std::string_view key) const;
  Result<const GgufArray*> require_array(std::string_view key, std::string_view expected) const;

  std::filesystem::path path_;
  std::optional<MappedFile> map_;
  std::span<const std::byte> head_;
  std::uint64_t file_bytes_ = 0;
  std::uint32_t version_ = 0;
  std::uint32_t alignment_ = 32;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::map<std::string_view, std::size_t> metadata_index_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace octavo
