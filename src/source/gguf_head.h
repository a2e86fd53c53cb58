// The head of a GGUF file that is to be written: keys and the directory of tensors (format: ggml docs/gguf.md,
// version 3). Plain data; one thread.
//
// Tensors lie in the order in which they were added, each at a multiple of the alignment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/metadata.h"
#include "tensor/dtype.h"

namespace octavo {

class GgufHead {
 public:
  /// The alignment of data: the least allowed, and the default of a file without general.alignment.
  static constexpr std::uint64_t kAlignment = 32;

  /// Adds a key, or replaces its value. Texts and arrays are copied.
  void set(std::string_view key, const MetadataValue& value);
  void set_u32(std::string_view key, std::uint32_t value);
  void set_bool(std::string_view key, bool value);
  void set_string(std::string_view key, std::string_view value);
  void set_strings(std::string_view key, std::span<const std::string> values);

  /// Adds a tensor. `dims` has 1 to 4 sizes, the row's length first, which is a whole number of blocks of `type`.
  void add_tensor(std::string_view name, std::span<const std::uint64_t> dims, DType type);

  /// The bytes of the data of tensor `index`, without the padding up to the next one.
  std::uint64_t tensor_bytes(std::size_t index) const { return tensors_[index].bytes; }
  std::size_t num_tensors() const { return tensors_.size(); }
  /// The bytes of the whole file.
  std::uint64_t file_bytes() const;
  /// The head, with which the file begins, up to the data of the first tensor.
  std::vector<std::byte> encode() const;

  /// `size` rounded up to a multiple of the alignment.
  static std::uint64_t padded(std::uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  struct Key {
    std::string name;
    std::vector<std::byte> value;  // the value with its type, as in the file
  };
  struct TensorRow {
    std::string name;
    std::vector<std::uint64_t> dims;
    DType type;
    std::uint64_t offset, bytes;  // the offset from the first tensor's data
  };

  /// The bytes of the head, as encode() gives them.
  std::uint64_t head_bytes() const;
  void set_encoded(std::string_view key, std::vector<std::byte> value);

  std::vector<Key> keys_;
  std::vector<TensorRow> tensors_;
};

}  // namespace octavo
