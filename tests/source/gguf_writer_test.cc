// Files that are written are read again by the same readers that read any other.
#include "source/gguf_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

std::vector<std::byte> pattern_of(std::size_t size, std::size_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + seed * 7);
  return bytes;
}

std::span<const std::byte> data_of(const ModelSource& source, std::string_view name) {
  return source.find_tensor(name)->tensor.data;
}

std::string text_of(const MetadataValue& value) {
  std::string text = describe(value);
  if (const auto* array = std::get_if<MetadataArray>(&value.value)) {
    for (std::uint64_t i = 0; i < array->size; ++i) text += "; " + text_of(element_of(*array, i));
  }
  return text;
}

template <class T>
MetadataValue array_of(MetadataType type, std::span<const T> values) {
  return {MetadataType::kArray,
          MetadataArray{.element_type = type, .size = values.size(), .bytes = std::as_bytes(values), .arrays = {}}};
}

/// A source with a key of every type, and arrays of them.
std::string every_type() {
  test::GgufWriter writer;
  writer.add("u8", std::uint8_t{200}).add("i8", std::int8_t{-100}).add("u16", std::uint16_t{60000});
  writer.add("i16", std::int16_t{-30000}).add("u32", 4000000000U).add("i32", -2000000000).add("f32", 1.5F);
  writer.add("bool", true).add("text", "a text").add("u64", ~std::uint64_t{0}).add("i64", std::int64_t{-1});
  writer.add("f64", 0.1)
      .add_array("flags", std::vector<bool>{true, false})
      .add_array("floats", std::vector{1.5F, -2.0F});
  writer.add_array("texts", std::vector<std::string>{"a", "", "\xFF"}).add_array("none", std::vector<std::int16_t>{});
  using test::bytes_of;
  using Writer = test::GgufWriter;
  writer.add_raw("nested", MetadataType::kArray,
                 Writer::array_head(MetadataType::kArray, 2) + Writer::array_head(MetadataType::kUint8, 1) +
                     bytes_of(std::uint8_t{3}) + Writer::array_head(MetadataType::kString, 1) + test::gguf_string("x"));
  return writer.bytes();
}

TEST(GgufWriter, KeepsKeysOfEveryType) {
  const test::TempFile original(every_type());
  const auto source = open_model(original.path());
  ASSERT_TRUE(source) << source.error().message;
  GgufHead head;
  for (const auto& [key, value] : (*source)->metadata()) head.set(key, value);
  const test::TempFolder folder;
  auto writer = GgufFileWriter::create(folder.path() / "copy.gguf", head, false);
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(writer->finish());
  const auto copy = open_model(folder.path() / "copy.gguf");
  ASSERT_TRUE(copy) << copy.error().message;
  ASSERT_EQ((*copy)->metadata().size(), (*source)->metadata().size());
  for (const auto& [key, value] : (*source)->metadata()) EXPECT_EQ(text_of(*(*copy)->find(key)), text_of(value)) << key;
}

TEST(GgufWriter, WritesValuesThatWereGivenByType) {
  GgufHead head;
  head.set_string("general.architecture", "llama");
  head.set_u32("a", 1);
  head.set_u32("a", 7);  // replaced
  head.set("b", {.type = MetadataType::kFloat32, .value = 0.25});
  head.set_bool("c", true);
  head.set_strings("d", std::vector<std::string>{"x", "yz"});
  const std::vector floats{1.0F, 2.0F};
  const std::vector<std::int32_t> integers{-1, 5};
  head.set("e", array_of(MetadataType::kFloat32, std::span(floats)));
  head.set("f", array_of(MetadataType::kInt32, std::span(integers)));
  const test::TempFolder folder;
  auto writer = GgufFileWriter::create(folder.path() / "m.gguf", head, false);
  ASSERT_TRUE(writer && writer->finish());
  const auto source = open_model(folder.path() / "m.gguf");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->get_u32("a").value(), 7U);
  EXPECT_EQ((*source)->find("z"), nullptr);
  EXPECT_EQ((*source)->get_f32("b").value(), 0.25F);
  EXPECT_TRUE((*source)->get_bool("c").value());
  EXPECT_EQ((*source)->get_strings("d").value()[1], "yz");
  EXPECT_EQ((*source)->get_f32_array("e").value(), (std::vector{1.0F, 2.0F}));
  EXPECT_EQ((*source)->get_i32_array("f").value(), (std::vector<std::int32_t>{-1, 5}));
}

// Data are laid out with the writer's own alignment, so a key that names another must not be copied.
TEST(GgufWriter, DropsTheAlignmentOfTheFileThatKeysCameFrom) {
  GgufHead head;
  head.set_u32("general.alignment", 64);
  const test::TempFolder folder;
  auto writer = GgufFileWriter::create(folder.path() / "m.gguf", head, false);
  ASSERT_TRUE(writer && writer->finish());
  EXPECT_EQ(open_model(folder.path() / "m.gguf").value()->find("general.alignment"), nullptr);
}

RC_GTEST_PROP(GgufWriter, WritesTensorsOfAnyTypesInPiecesOfAnySize, ()) {
  const auto num_tensors = *rc::gen::inRange<std::size_t>(0, 6);
  GgufHead head;
  head.set_string("general.architecture", "llama");
  for (std::size_t i = 0; i < num_tensors; ++i) {
    const DType type = *rc::gen::elementOf(std::vector<DType>(std::begin(kAllDTypes), std::end(kAllDTypes)));
    const auto blocks = static_cast<std::uint64_t>(*rc::gen::inRange(1, 4));
    const std::uint64_t cols = blocks * static_cast<std::uint64_t>(dtype_info(type).block_elements);
    head.add_tensor("t" + std::to_string(i), std::vector<std::uint64_t>{cols, i + 1}, type);
  }
  const test::TempFolder folder;
  auto writer = GgufFileWriter::create(folder.path() / "m.gguf", head, false);
  RC_ASSERT(writer.has_value());
  for (std::size_t i = 0; i < num_tensors; ++i) {
    const std::vector<std::byte> data = pattern_of(head.tensor_bytes(i), i);
    for (std::size_t at = 0; at < data.size();) {
      const auto size = std::min(data.size() - at, *rc::gen::inRange<std::size_t>(1, data.size() + 1));
      RC_ASSERT(writer->append(std::span(data).subspan(at, size)).has_value());
      at += size;
    }
  }
  RC_ASSERT(writer->finish().has_value());
  RC_ASSERT(std::filesystem::file_size(folder.path() / "m.gguf") == head.file_bytes());
  const auto source = open_model(folder.path() / "m.gguf");
  RC_ASSERT(source.has_value());
  RC_ASSERT((*source)->tensors().size() == num_tensors);
  for (std::size_t i = 0; i < num_tensors; ++i)
    RC_ASSERT(std::ranges::equal(data_of(**source, "t" + std::to_string(i)), pattern_of(head.tensor_bytes(i), i)));
}

TEST(GgufWriterDeathTest, RefusesAPieceBeyondItsTensorAndAFileWithoutAllData) {
  GgufHead head;
  head.add_tensor("t", std::vector<std::uint64_t>{8}, DType::kF32);
  const test::TempFolder folder;
  auto writer = GgufFileWriter::create(folder.path() / "m.gguf", head, false);
  ASSERT_TRUE(writer);
  EXPECT_DEATH((void)writer->append(pattern_of(33, 0)), "33 bytes reaches beyond tensor 0 of 1");
  EXPECT_DEATH((void)writer->finish(), "tensor 0 of 1 lacks data");
}

}  // namespace
}  // namespace octavo
