// Builds the bytes of a GGUF file in memory, valid ones and hostile ones, for the tests of any layer.
//
//     GgufWriter writer;
//     writer.add("general.architecture", "llama").add("llama.block_count", 2U);
//     writer.add_tensor("output_norm.weight", {64}, DType::kF32, bytes_of(weights));
//     TempFile file(writer.bytes());
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "source/metadata.h"
#include "tensor/dtype.h"

namespace octavo::test {

/// The bytes of a trivial value, as they lie in memory.
template <class T>
  requires std::is_arithmetic_v<T>
std::string bytes_of(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

template <class T>
  requires std::is_arithmetic_v<T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

/// A GGUF string: its length in 64 bits, then its bytes.
inline std::string gguf_string(std::string_view text) {
  return bytes_of(std::uint64_t{text.size()}) + std::string(text);
}

template <class T>
constexpr MetadataType metadata_type_of() {
  if constexpr (std::same_as<T, bool>) return MetadataType::kBool;
  if constexpr (std::same_as<T, float>) return MetadataType::kFloat32;
  if constexpr (std::same_as<T, double>) return MetadataType::kFloat64;
  if constexpr (std::integral<T>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return kSigned ? MetadataType::kInt8 : MetadataType::kUint8;
    if constexpr (sizeof(T) == 2) return kSigned ? MetadataType::kInt16 : MetadataType::kUint16;
    if constexpr (sizeof(T) == 4) return kSigned ? MetadataType::kInt32 : MetadataType::kUint32;
    if constexpr (sizeof(T) == 8) return kSigned ? MetadataType::kInt64 : MetadataType::kUint64;
  }
}

class GgufWriter {
 public:
  explicit GgufWriter(std::uint32_t version = 3, std::uint64_t alignment = 32)
      : version_(version), alignment_(alignment) {}

  /// A number or a bool, stored with the width and sign of T.
  template <class T>
    requires std::is_arithmetic_v<T>
  GgufWriter& add(std::string_view key, T value) {
    return add_raw(key, metadata_type_of<T>(), bytes_of(value));
  }
  GgufWriter& add(std::string_view key, std::string_view text) {
    return add_raw(key, MetadataType::kString, gguf_string(text));
  }
  GgufWriter& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }

  template <class T>
    requires std::is_arithmetic_v<T>
  GgufWriter& add_array(std::string_view key, const std::vector<T>& values) {
    return add_raw(key, MetadataType::kArray, array_head(metadata_type_of<T>(), values.size()) + bytes_of(values));
  }
  GgufWriter& add_array(std::string_view key, const std::vector<bool>& flags) {
    return add_raw(key, MetadataType::kArray,
                   array_head(MetadataType::kBool, flags.size()) + std::string(flags.begin(), flags.end()));
  }
  GgufWriter& add_array(std::string_view key, const std::vector<std::string>& texts) {
    std::string value = array_head(MetadataType::kString, texts.size());
    for (const std::string& text : texts) value += gguf_string(text);
    return add_raw(key, MetadataType::kArray, value);
  }
  /// The type and count that an array's value begins with.
  static std::string array_head(MetadataType element_type, std::uint64_t count) {
    return bytes_of(static_cast<std::uint32_t>(element_type)) + bytes_of(count);
  }
  /// Any type number with any bytes.
  GgufWriter& add_raw(std::string_view key, MetadataType type, std::string_view value) {
    metadata_ += gguf_string(key) + bytes_of(static_cast<std::uint32_t>(type)) + std::string(value);
    ++num_metadata_;
    return *this;
  }

  /// A tensor at the next aligned offset. dims are in ggml's order: row length first.
  GgufWriter& add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, DType type,
                         std::string_view data) {
    return add_raw_tensor(name, dims, static_cast<std::uint32_t>(type), data);
  }
  /// The same with any type number and, if given, any offset in the data.
  GgufWriter& add_raw_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type_id,
                             std::string_view data, std::optional<std::uint64_t> offset = std::nullopt) {
    pad(data_);
    directory_ += gguf_string(name) + bytes_of(static_cast<std::uint32_t>(dims.size())) + bytes_of(dims) +
                  bytes_of(type_id) + bytes_of(offset.value_or(data_.size()));
    data_ += data;
    ++num_tensors_;
    return *this;
  }

  /// Counts that the header shall give instead of the true ones.
  GgufWriter& claim_counts(std::uint64_t num_tensors, std::uint64_t num_metadata) {
    claimed_tensors_ = num_tensors;
    claimed_metadata_ = num_metadata;
    return *this;
  }

  std::string bytes() const {
    std::string out = "GGUF" + bytes_of(version_) + bytes_of(claimed_tensors_.value_or(num_tensors_)) +
                      bytes_of(claimed_metadata_.value_or(num_metadata_)) + metadata_ + directory_;
    if (num_tensors_ > 0) pad(out);
    return out + data_;
  }

 private:
  void pad(std::string& bytes) const { bytes.resize((bytes.size() + alignment_ - 1) / alignment_ * alignment_); }

  std::uint32_t version_;
  std::uint64_t alignment_;
  std::string metadata_, directory_, data_;
  std::uint64_t num_metadata_ = 0, num_tensors_ = 0;
  std::optional<std::uint64_t> claimed_tensors_, claimed_metadata_;
};

}  // namespace octavo::test
