#include "source/metadata.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, kNumMetadataTypes> kTypeNames = {
    "uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
    "bool",  "string", "array",  "uint64", "int64",  "float64"};

template <class T>
T load(std::span<const std::byte> bytes, std::uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::string_view metadata_type_name(MetadataType type) {
  const auto index = to_size(type);
  return index < kTypeNames.size() ? kTypeNames[index] : "unknown";
}

MetadataValue element_of(const MetadataArray& array, std::uint64_t index) {
  OCTAVO_CHECK(index < array.size, "index {} of an array of {}", index, array.size);
  const auto unsigned_value = [&](std::uint64_t v) { return MetadataValue{array.element_type, v}; };
  const auto signed_value = [&](std::int64_t v) { return MetadataValue{array.element_type, v}; };
  const auto float_value = [&](double v) { return MetadataValue{array.element_type, v}; };
  switch (array.element_type) {
    case MetadataType::kUint8: return unsigned_value(load<std::uint8_t>(array.bytes, index));
    case MetadataType::kUint16: return unsigned_value(load<std::uint16_t>(array.bytes, index));
    case MetadataType::kUint32: return unsigned_value(load<std::uint32_t>(array.bytes, index));
    case MetadataType::kUint64: return unsigned_value(load<std::uint64_t>(array.bytes, index));
    case MetadataType::kInt8: return signed_value(load<std::int8_t>(array.bytes, index));
    case MetadataType::kInt16: return signed_value(load<std::int16_t>(array.bytes, index));
    case MetadataType::kInt32: return signed_value(load<std::int32_t>(array.bytes, index));
    case MetadataType::kInt64: return signed_value(load<std::int64_t>(array.bytes, index));
    case MetadataType::kFloat32: return float_value(static_cast<double>(load<float>(array.bytes, index)));
    case MetadataType::kFloat64: return float_value(load<double>(array.bytes, index));
    case MetadataType::kBool: return {array.element_type, array.bytes[index] != std::byte{0}};
    case MetadataType::kString: return {array.element_type, array.strings[index]};
    case MetadataType::kArray: return array.arrays[index];
  }
  check_failed("known type", __FILE__, __LINE__, "");
}

std::string describe(const MetadataValue& value) {
  const std::string_view type = metadata_type_name(value.type);
  if (const auto* array = std::get_if<MetadataArray>(&value.value))
    return fmt::format("array of {} {}", array->size, metadata_type_name(array->element_type));
  if (const auto* text = std::get_if<std::string_view>(&value.value)) return fmt::format("{} {}", type, quote(*text));
  if (const auto* number = std::get_if<std::uint64_t>(&value.value)) return fmt::format("{} {}", type, *number);
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return fmt::format("{} {}", type, *number);
  if (const auto* number = std::get_if<double>(&value.value)) return fmt::format("{} {}", type, *number);
  return fmt::format("{} {}", type, std::get<bool>(value.value));
}

}  // namespace octavo
