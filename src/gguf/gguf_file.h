// A GGUF file: header, typed metadata, tensor directory (format: ggml docs/gguf.md, versions 2 and 3).
//
// Every count, length and offset of the file is compared with the file's real size before anything
// is allocated for it. Owned by the engine; immutable after open(), so any thread may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
std::string_view gguf_type_name(GgufType type);

/// An array of a GGUF file, left in the mapped file and decoded on demand. Strings are views into the map.
class GgufArray;

/// One metadata value. Integers are widened, floats too; `type` keeps what the file says.
struct GgufValue {
  GgufType type;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, std::shared_ptr<const GgufArray>> value;
};

/// Elements of an array in their widened form. Nested arrays are kept as parsed values.
class GgufArray {
 public:
  GgufType element_type;
  std::uint64_t size = 0;
  std::span<const std::byte> bytes;       // fixed-size elements, in the file
  std::vector<std::string_view> strings;  // element_type kString
  std::vector<GgufValue> arrays;          // element_type kArray
};

struct GgufTensor {
  std::string_view name;
  std::uint64_t offset = 0;         // from the start of the file
  std::vector<std::uint64_t> dims;  // ggml order: dims[0] is the row length; 1 to 4 of them
  Tensor tensor;                    // cols = dims[0], rows = the product of the others
};

class GgufFile {
 public:
  /// Maps and checks a whole file. Errors name the file and the offset, key or tensor.
  static Result<GgufFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const MappedFile& file() const { return file_; }
  std::uint32_t version() const { return version_; }
  std::uint32_t alignment() const { return alignment_; }

  /// Metadata in the file's order, and by key (nullptr if absent).
  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const { return metadata_; }
  const GgufValue* find(std::string_view key) const;

  /// Typed look-ups. A missing key or another type is an error that names the key, what was found, what was
  /// expected. Integers of any width and sign are accepted where the value fits.
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
  explicit GgufFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::uint32_t version_ = 0;
  std::uint32_t alignment_ = 32;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::map<std::string_view, std::size_t> metadata_index_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace octavo
