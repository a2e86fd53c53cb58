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
void DirectoryBuilder::add_text(std::string_view key, std::string text) {
  add(key, {.type = MetadataType::kString, .value = keep(std::move(text))});
}

void DirectoryBuilder::add_i32s(std::string_view key, std::span<const std::int32_t> values) {
  const auto& kept = numbers_.emplace_back(values.begin(), values.end());
  MetadataArray array;
  array.element_type = MetadataType::kInt32;
  array.size = kept.size();
  array.bytes = std::as_bytes(std::span(kept));
  add(key, {.type = MetadataType::kArray, .value = std::move(array)});
}

}  // namespace octavo
