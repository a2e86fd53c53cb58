#include "gguf/gguf_file.h"

#include <array>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/to_size.h"
#include "gguf/file_head.h"
#include "gguf/gguf_parser.h"
#include "gguf/text.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, kNumGgufTypes> kTypeNames = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                                    "int32",  "float32", "bool",   "string", "array",
                                                                    "uint64", "int64",   "float64"};

template <class T>
T load(std::span<const std::byte> bytes, std::uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// What a value is, for a message: "uint32 7", "array of 3 string".
std::string describe(const GgufValue& value) {
  const std::string_view type = gguf_type_name(value.type);
  if (const auto* array = std::get_if<GgufArray>(&value.value))
    return fmt::format("array of {} {}", array->size, gguf_type_name(array->element_type));
  if (const auto* text = std::get_if<std::string_view>(&value.value)) return fmt::format("{} {}", type, quote(*text));
  if (const auto* number = std::get_if<std::uint64_t>(&value.value)) return fmt::format("{} {}", type, *number);
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return fmt::format("{} {}", type, *number);
  if (const auto* number = std::get_if<double>(&value.value)) return fmt::format("{} {}", type, *number);
  return fmt::format("{} {}", type, std::get<bool>(value.value));
}

/// The value as T where it is an integer that fits.
template <class T>
std::optional<T> as_integer(const GgufValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value.value))
    return std::in_range<T>(*number) ? std::optional(static_cast<T>(*number)) : std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(&value.value))
    return std::in_range<T>(*number) ? std::optional(static_cast<T>(*number)) : std::nullopt;
  return std::nullopt;
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  const auto index = to_size(type);
  return index < kTypeNames.size() ? kTypeNames[index] : "unknown";
}

GgufValue gguf_array_element(const GgufArray& array, std::uint64_t index) {
  OCTAVO_CHECK(index < array.size, "index {} of an array of {}", index, array.size);
  const auto unsigned_value = [&](std::uint64_t v) { return GgufValue{array.element_type, v}; };
  const auto signed_value = [&](std::int64_t v) { return GgufValue{array.element_type, v}; };
  const auto float_value = [&](double v) { return GgufValue{array.element_type, v}; };
  switch (array.element_type) {
    case GgufType::kUint8: return unsigned_value(load<std::uint8_t>(array.bytes, index));
    case GgufType::kUint16: return unsigned_value(load<std::uint16_t>(array.bytes, index));
    case GgufType::kUint32: return unsigned_value(load<std::uint32_t>(array.bytes, index));
    case GgufType::kUint64: return unsigned_value(load<std::uint64_t>(array.bytes, index));
    case GgufType::kInt8: return signed_value(load<std::int8_t>(array.bytes, index));
    case GgufType::kInt16: return signed_value(load<std::int16_t>(array.bytes, index));
    case GgufType::kInt32: return signed_value(load<std::int32_t>(array.bytes, index));
    case GgufType::kInt64: return signed_value(load<std::int64_t>(array.bytes, index));
    case GgufType::kFloat32: return float_value(static_cast<double>(load<float>(array.bytes, index)));
    case GgufType::kFloat64: return float_value(load<double>(array.bytes, index));
    case GgufType::kBool: return {array.element_type, array.bytes[index] != std::byte{0}};
    case GgufType::kString: return {array.element_type, array.strings[index]};
    case GgufType::kArray: return array.arrays[index];
  }
  check_failed("known type", __FILE__, __LINE__, "");
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  OCTAVO_TRY(auto map, MappedFile::open(path));
  FileHead head(map);
  const auto load = [&](std::uint64_t end) { return head.load(end); };
  OCTAVO_TRY(GgufFile file, GgufParser(map.bytes(), load, path).parse());
  file.map_ = std::move(map);
  return file;
}

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  return GgufParser(bytes, {}, name).parse();
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

Result<const GgufValue*> GgufFile::require(std::string_view key) const {
  if (const GgufValue* value = find(key)) return value;
  return fail("{}: metadata key '{}' is missing", path_.string(), key);
}

Result<const GgufArray*> GgufFile::require_array(std::string_view key, std::string_view expected) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* array = std::get_if<GgufArray>(&value->value)) return array;
  return fail("{}: metadata key '{}' is {}, expected an array of {}", path_.string(), key, describe(*value), expected);
}

Result<std::uint64_t> GgufFile::get_u64(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto number = as_integer<std::uint64_t>(*value)) return *number;
  return fail("{}: metadata key '{}' is {}, expected an integer of at least 0", path_.string(), key, describe(*value));
}

Result<std::uint32_t> GgufFile::get_u32(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto number = as_integer<std::uint32_t>(*value)) return *number;
  return fail("{}: metadata key '{}' is {}, expected an integer from 0 to 4294967295", path_.string(), key,
              describe(*value));
}

Result<float> GgufFile::get_f32(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* number = std::get_if<double>(&value->value)) return static_cast<float>(*number);
  return fail("{}: metadata key '{}' is {}, expected a float", path_.string(), key, describe(*value));
}

Result<bool> GgufFile::get_bool(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* flag = std::get_if<bool>(&value->value)) return *flag;
  return fail("{}: metadata key '{}' is {}, expected a bool", path_.string(), key, describe(*value));
}

Result<std::string_view> GgufFile::get_string(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* text = std::get_if<std::string_view>(&value->value)) return *text;
  return fail("{}: metadata key '{}' is {}, expected a string", path_.string(), key, describe(*value));
}

Result<std::span<const std::string_view>> GgufFile::get_strings(std::string_view key) const {
  OCTAVO_TRY(const auto* array, require_array(key, "strings"));
  if (array->element_type != GgufType::kString)
    return fail("{}: metadata key '{}' is an array of {}, expected an array of strings", path_.string(), key,
                gguf_type_name(array->element_type));
  return std::span<const std::string_view>(array->strings);
}

Result<std::vector<float>> GgufFile::get_f32_array(std::string_view key) const {
  OCTAVO_TRY(const auto* array, require_array(key, "floats"));
  if (array->element_type != GgufType::kFloat32 && array->element_type != GgufType::kFloat64)
    return fail("{}: metadata key '{}' is an array of {}, expected an array of floats", path_.string(), key,
                gguf_type_name(array->element_type));
  std::vector<float> out(array->size);
  for (std::uint64_t i = 0; i < array->size; ++i)
    out[i] = static_cast<float>(std::get<double>(gguf_array_element(*array, i).value));
  return out;
}

Result<std::vector<std::int32_t>> GgufFile::get_i32_array(std::string_view key) const {
  OCTAVO_TRY(const auto* array, require_array(key, "integers"));
  std::vector<std::int32_t> out(array->size);
  for (std::uint64_t i = 0; i < array->size; ++i) {
    const GgufValue element = gguf_array_element(*array, i);
    const auto number = as_integer<std::int32_t>(element);
    if (!number)
      return fail("{}: element {} of metadata key '{}' is {}, expected an integer of 32 bits", path_.string(), i, key,
                  describe(element));
    out[i] = *number;
  }
  return out;
}

}  // namespace octavo
