// A valid GGUF file gives metadata of every type and the tensor directory. Look-ups by type are in
// source/model_source_test.cc.
#include "source/gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::bytes_of;
using test::GgufWriter;
using test::TempFile;
using testing::ElementsAre;

GgufFile open_or_die(const TempFile& file) {
  auto gguf = GgufFile::open(file.path());
  if (!gguf) throw std::runtime_error(gguf.error().message);
  return std::move(*gguf);
}

class GgufVersion : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Read, GgufVersion, testing::Values(2U, 3U));

TEST_P(GgufVersion, MetadataOfEveryTypeIsWidened) {
  GgufWriter writer(GetParam());
  writer.add("u8", std::uint8_t{255}).add("i8", std::int8_t{-128});
  writer.add("u16", std::uint16_t{65535}).add("i16", std::int16_t{-32768});
  writer.add("u32", std::uint32_t{4294967295}).add("i32", std::numeric_limits<std::int32_t>::min());
  writer.add("u64", std::numeric_limits<std::uint64_t>::max()).add("i64", std::numeric_limits<std::int64_t>::min());
  writer.add("f32", 1.5F).add("f64", 0.1).add("bool", true).add("string", "text");
  writer.add_array("array", std::vector<std::int16_t>{-1, 2});
  const TempFile file(writer.bytes());
  const GgufFile gguf = open_or_die(file);

  EXPECT_EQ(gguf.files().version, GetParam());
  EXPECT_EQ(gguf.files().bytes, writer.bytes().size());
  ASSERT_EQ(gguf.metadata().size(), 13U);
  const auto is = [&](std::string_view key, MetadataType type, auto value) {
    const MetadataValue* found = gguf.find(key);
    return found != nullptr && found->type == type && std::get<decltype(value)>(found->value) == value;
  };
  EXPECT_TRUE(is("u8", MetadataType::kUint8, std::uint64_t{255}));
  EXPECT_TRUE(is("i8", MetadataType::kInt8, std::int64_t{-128}));
  EXPECT_TRUE(is("u16", MetadataType::kUint16, std::uint64_t{65535}));
  EXPECT_TRUE(is("i16", MetadataType::kInt16, std::int64_t{-32768}));
  EXPECT_TRUE(is("u32", MetadataType::kUint32, std::uint64_t{4294967295}));
  EXPECT_TRUE(is("i32", MetadataType::kInt32, std::int64_t{std::numeric_limits<std::int32_t>::min()}));
  EXPECT_TRUE(is("u64", MetadataType::kUint64, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_TRUE(is("i64", MetadataType::kInt64, std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(is("f32", MetadataType::kFloat32, 1.5));
  EXPECT_TRUE(is("f64", MetadataType::kFloat64, 0.1));
  EXPECT_TRUE(is("bool", MetadataType::kBool, true));
  EXPECT_TRUE(is("string", MetadataType::kString, std::string_view("text")));
  EXPECT_EQ(gguf.find("array")->type, MetadataType::kArray);
  EXPECT_EQ(gguf.find("other"), nullptr);
}

TEST(GgufFile, NestedArraysAreKept) {
  const std::string inner = GgufWriter::array_head(MetadataType::kUint8, 2) + "\x01\x02";
  const std::string strings = GgufWriter::array_head(MetadataType::kString, 1) + test::gguf_string("x");
  const std::string outer = GgufWriter::array_head(MetadataType::kArray, 2) + inner + strings;
  const TempFile file(GgufWriter().add_raw("nested", MetadataType::kArray, outer).add("after", 9U).bytes());
  const GgufFile gguf = open_or_die(file);
  const auto& array = std::get<MetadataArray>(gguf.find("nested")->value);
  ASSERT_EQ(array.arrays.size(), 2U);
  const auto& numbers = std::get<MetadataArray>(array.arrays[0].value);
  EXPECT_EQ(std::get<std::uint64_t>(element_of(numbers, 1).value), 2U);
  EXPECT_THAT(std::get<MetadataArray>(array.arrays[1].value).strings, ElementsAre("x"));
  EXPECT_EQ(gguf.get_u32("after"), 9U);
}

TEST_P(GgufVersion, TensorsAreFoundWithShapeAndData) {
  const std::vector<float> vector = {1, 2, 3};
  const std::string blocks(2 * 2 * 18, '\x42');
  const TempFile file(GgufWriter(GetParam())
                          .add_tensor("vector", {3}, DType::kF32, bytes_of(vector))
                          .add_tensor("matrix", {64, 2}, DType::kQ4_0, blocks)
                          .add_tensor("stack", {2, 3, 4, 5}, DType::kF16, std::string(240, 'x'))
                          .bytes());
  const GgufFile gguf = open_or_die(file);
  ASSERT_EQ(gguf.tensors().size(), 3U);
  const SourceTensor* matrix = gguf.find_tensor("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->tensor.type, DType::kQ4_0);
  EXPECT_EQ(matrix->tensor.rows, 2);
  EXPECT_EQ(matrix->tensor.cols, 64);
  EXPECT_THAT(matrix->dims, ElementsAre(64, 2));
  EXPECT_EQ(matrix->offset % 32, 0U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(matrix->tensor.data.data()), matrix->tensor.data.size()), blocks);
  EXPECT_EQ(matrix->tensor.data.data(), gguf.heads().front().data() + matrix->offset);
  EXPECT_EQ(gguf.find_tensor("vector")->tensor.rows, 1);
  EXPECT_EQ(gguf.find_tensor("stack")->tensor.rows, 60);
  EXPECT_EQ(gguf.find_tensor("other"), nullptr);
}

TEST(GgufFile, AllTensorTypesMayBeMixed) {
  GgufWriter writer;
  for (const DType type : kAllDTypes)
    writer.add_tensor(dtype_info(type).name, {256}, type, std::string(*dtype_bytes(type, 256), 'w'));
  const TempFile file(writer.bytes());
  const GgufFile gguf = open_or_die(file);
  ASSERT_EQ(gguf.tensors().size(), static_cast<std::size_t>(kNumDTypes));
  for (const DType type : kAllDTypes) EXPECT_EQ(gguf.find_tensor(dtype_info(type).name)->tensor.type, type);
}

TEST(GgufFile, TheFilesOwnAlignmentIsUsed) {
  GgufWriter writer(3, 128);
  writer.add("general.alignment", 128U);
  writer.add_tensor("a", {1}, DType::kF32, bytes_of(1.0F)).add_tensor("b", {1}, DType::kF32, bytes_of(2.0F));
  const TempFile file(writer.bytes());
  const GgufFile gguf = open_or_die(file);
  EXPECT_EQ(gguf.alignment(), 128U);
  EXPECT_EQ(gguf.find_tensor("b")->offset % 128, 0U);
  EXPECT_EQ(*reinterpret_cast<const float*>(gguf.find_tensor("b")->tensor.data.data()), 2.0F);
}

TEST(GgufFile, AVocabularyOnlyFileHasNoTensors) {
  const TempFile file(GgufWriter().add("general.architecture", "llama").bytes());
  EXPECT_TRUE(open_or_die(file).tensors().empty());
}

TEST(GgufFile, CanBeMovedWithItsViews) {
  const TempFile file(GgufWriter().add("key", "value").add_tensor("t", {1}, DType::kF32, bytes_of(4.0F)).bytes());
  GgufFile first = open_or_die(file);
  const GgufFile second = std::move(first);
  EXPECT_EQ(second.get_string("key"), "value");
  EXPECT_EQ(*reinterpret_cast<const float*>(second.find_tensor("t")->tensor.data.data()), 4.0F);
}

}  // namespace
}  // namespace octavo
