#include "source/model_source.h"

#include <optional>
#include <utility>

namespace octavo {
namespace {

/// The value as a T if it is an integer that fits.
template <class T>
std::optional<T> as_integer(const MetadataValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value.value))
    return std::in_range<T>(*number) ? std::optional(static_cast<T>(*number)) : std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(&value.value))
    return std::in_range<T>(*number) ? std::optional(static_cast<T>(*number)) : std::nullopt;
  return std::nullopt;
}

}  // namespace

Result<const MetadataValue*> ModelSource::require(std::string_view key) const {
  if (const MetadataValue* value = find(key)) return value;
  return fail("{}: metadata key '{}' is missing", name(), key);
}

Result<const MetadataArray*> ModelSource::require_array(std::string_view key, std::string_view expected) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* array = std::get_if<MetadataArray>(&value->value)) return array;
  return fail("{}: metadata key '{}' is {}, expected an array of {}", name(), key, describe(*value), expected);
}

Result<std::uint64_t> ModelSource::get_u64(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto number = as_integer<std::uint64_t>(*value)) return *number;
  return fail("{}: metadata key '{}' is {}, expected an integer of at least 0", name(), key, describe(*value));
}

Result<std::uint32_t> ModelSource::get_u32(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto number = as_integer<std::uint32_t>(*value)) return *number;
  return fail("{}: metadata key '{}' is {}, expected an integer from 0 to 4294967295", name(), key, describe(*value));
}

Result<float> ModelSource::get_f32(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* number = std::get_if<double>(&value->value)) return static_cast<float>(*number);
  return fail("{}: metadata key '{}' is {}, expected a float", name(), key, describe(*value));
}

Result<bool> ModelSource::get_bool(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* flag = std::get_if<bool>(&value->value)) return *flag;
  return fail("{}: metadata key '{}' is {}, expected a bool", name(), key, describe(*value));
}

Result<std::string_view> ModelSource::get_string(std::string_view key) const {
  OCTAVO_TRY(const auto* value, require(key));
  if (const auto* text = std::get_if<std::string_view>(&value->value)) return *text;
  return fail("{}: metadata key '{}' is {}, expected a string", name(), key, describe(*value));
}

Result<std::span<const std::string_view>> ModelSource::get_strings(std::string_view key) const {
  OCTAVO_TRY(const auto* array, require_array(key, "strings"));
  if (array->element_type != MetadataType::kString)
    return fail("{}: metadata key '{}' is an array of {}, expected an array of strings", name(), key,
                metadata_type_name(array->element_type));
  return std::span<const std::string_view>(array->strings);
}

Result<std::vector<float>> ModelSource::get_f32_array(std::string_view key) const {
  OCTAVO_TRY(const auto* array, require_array(key, "floats"));
  if (array->element_type != MetadataType::kFloat32 && array->element_type != MetadataType::kFloat64)
    return fail("{}: metadata key '{}' is an array of {}, expected an array of floats", name(), key,
                metadata_type_name(array->element_type));
  std::vector<float> out(array->size);
  for (std::uint64_t i = 0; i < array->size; ++i)
    out[i] = static_cast<float>(std::get<double>(element_of(*array, i).value));
  return out;
}

Result<std::vector<std::int32_t>> ModelSource::get_i32_array(std::string_view key) const {
  OCTAVO_TRY(const auto* array, require_array(key, "integers"));
  std::vector<std::int32_t> out(array->size);
  for (std::uint64_t i = 0; i < array->size; ++i) {
    const MetadataValue element = element_of(*array, i);
    const auto number = as_integer<std::int32_t>(element);
    if (!number)
      return fail("{}: element {} of metadata key '{}' is {}, expected an integer of 32 bits", name(), i, key,
                  describe(element));
    out[i] = *number;
  }
  return out;
}

}  // namespace octavo
