// The values of a model's keys, as its files give them: numbers of any width, flags, texts, arrays.
//
// Plain values. Texts and arrays are views that live as long as the source (model_source.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace octavo {

/// The types of values; the numbers are GGUF's.
enum class MetadataType : std::uint32_t {
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
inline constexpr std::uint32_t kNumMetadataTypes = 13;

/// The name of a type: "uint8", "string", "array" and so on; "unknown" for a number outside the enumeration.
std::string_view metadata_type_name(MetadataType type);

struct MetadataValue;

/// An array: elements of a fixed size stay as they lie in the file and are decoded on demand.
struct MetadataArray {
  MetadataType element_type = MetadataType::kUint8;
  std::uint64_t size = 0;
  std::span<const std::byte> bytes = {};       // elements of a fixed size, little-endian, at any alignment
  std::vector<std::string_view> strings = {};  // element_type kString
  std::vector<MetadataValue> arrays;           // element_type kArray
};

/// One value. Integers and floats are widened; `type` is the one of the file.
struct MetadataValue {
  MetadataType type = MetadataType::kUint8;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, MetadataArray> value;
};

/// One element of an array, with its number widened; `index` is below array.size.
MetadataValue element_of(const MetadataArray& array, std::uint64_t index);

/// A value with its type, for a message: "uint32 7", "array of 3 string".
std::string describe(const MetadataValue& value);

}  // namespace octavo
