#include "source/folder/directory_builder.h"

#include "base/error.h"

namespace octavo {

void DirectoryBuilder::add(std::string_view key, MetadataValue value) {
  MetadataValue* place = directory_.add(keep(std::string(key)));
  OCTAVO_CHECK(place != nullptr, "key {} twice", key);
  *place = std::move(value);
}

void DirectoryBuilder::add_u32(std::string_view key, std::uint64_t value) {
  add(key, {.type = MetadataType::kUint32, .value = value});
}
void DirectoryBuilder::add_f32(std::string_view key, double value) {
  add(key, {.type = MetadataType::kFloat32, .value = static_cast<double>(static_cast<float>(value))});
}
void DirectoryBuilder::add_flag(std::string_view key, bool value) {
  add(key, {.type = MetadataType::kBool, .value = value});
}
void DirectoryBuilder::add_text(std::string_view key, std::string text) {
  add(key, {.type = MetadataType::kString, .value = keep(std::move(text))});
}

void DirectoryBuilder::add_array(std::string_view key, MetadataType type, std::uint64_t size,
                                 std::span<const std::byte> bytes) {
  MetadataArray array;
  array.element_type = type;
  array.size = size;
  array.bytes = bytes;
  add(key, {.type = MetadataType::kArray, .value = std::move(array)});
}

void DirectoryBuilder::add_i32s(std::string_view key, std::span<const std::int32_t> values) {
  const auto& kept = numbers_.emplace_back(values.begin(), values.end());
  add_array(key, MetadataType::kInt32, kept.size(), std::as_bytes(std::span(kept)));
}

void DirectoryBuilder::add_f32s(std::string_view key, std::span<const float> values) {
  const auto& kept = floats_.emplace_back(values.begin(), values.end());
  add_array(key, MetadataType::kFloat32, kept.size(), std::as_bytes(std::span(kept)));
}

void DirectoryBuilder::add_flags(std::string_view key, const std::vector<bool>& flags) {
  auto& kept = flags_.emplace_back();
  for (const bool flag : flags) kept.push_back(flag ? std::byte{1} : std::byte{0});
  add_array(key, MetadataType::kBool, kept.size(), kept);
}

}  // namespace octavo
