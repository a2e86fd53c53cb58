// What a valid GGUF file gives: metadata of every type, the typed look-ups, the tensor directory.
#include "gguf/gguf_file.h"

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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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

  EXPECT_EQ(gguf.version(), GetParam());
  EXPECT_EQ(gguf.file_bytes(), writer.bytes().size());
  ASSERT_EQ(gguf.metadata().size(), 13U);
  const auto is = [&](std::string_view key, GgufType type, auto value) {
    const GgufValue* found = gguf.find(key);
    return found != nullptr && found->type == type && std::get<decltype(value)>(found->value) == value;
  };
  EXPECT_TRUE(is("u8", GgufType::kUint8, std::uint64_t{255}));
  EXPECT_TRUE(is("i8", GgufType::kInt8, std::int64_t{-128}));
  EXPECT_TRUE(is("u16", GgufType::kUint16, std::uint64_t{65535}));
  EXPECT_TRUE(is("i16", GgufType::kInt16, std::int64_t{-32768}));
  EXPECT_TRUE(is("u32", GgufType::kUint32, std::uint64_t{4294967295}));
  EXPECT_TRUE(is("i32", GgufType::kInt32, std::int64_t{std::numeric_limits<std::int32_t>::min()}));
  EXPECT_TRUE(is("u64", GgufType::kUint64, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_TRUE(is("i64", GgufType::kInt64, std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(is("f32", GgufType::kFloat32, 1.5));
  EXPECT_TRUE(is("f64", GgufType::kFloat64, 0.1));
  EXPECT_TRUE(is("bool", GgufType::kBool, true));
  EXPECT_TRUE(is("string", GgufType::kString, std::string_view("text")));
  EXPECT_EQ(gguf.find("array")->type, GgufType::kArray);
  EXPECT_EQ(gguf.find("other"), nullptr);
}

TEST(GgufFile, MetadataKeepsTheOrderOfTheFile) {
  const TempFile file(GgufWriter().add("z", 1U).add("a", 2U).add("m", 3U).bytes());
  const GgufFile gguf = open_or_die(file);
  ASSERT_EQ(gguf.metadata().size(), 3U);
  EXPECT_EQ(gguf.metadata()[0].first, "z");
  EXPECT_EQ(gguf.metadata()[1].first, "a");
  EXPECT_EQ(gguf.metadata()[2].first, "m");
}

TEST(GgufFile, IntegersOfAnyWidthAndSignAreAcceptedWhereTheyFit) {
  const TempFile file(GgufWriter()
                          .add("small", std::uint8_t{7})
                          .add("signed", std::int64_t{7})
                          .add("negative", std::int32_t{-1})
                          .add("large", std::uint64_t{1} << 32)
                          .add("float", 7.0F)
                          .bytes());
  const GgufFile gguf = open_or_die(file);
  EXPECT_EQ(gguf.get_u32("small"), 7U);
  EXPECT_EQ(gguf.get_u32("signed"), 7U);
  EXPECT_EQ(gguf.get_u64("large"), std::uint64_t{1} << 32);
  EXPECT_THAT(gguf.get_u32("large").error().message, AllOf(HasSubstr(file.string()), HasSubstr("'large'"),
                                                           HasSubstr("uint64 4294967296"), HasSubstr("expected")));
  EXPECT_THAT(gguf.get_u64("negative").error().message, HasSubstr("int32 -1"));
  EXPECT_THAT(gguf.get_u32("float").error().message, HasSubstr("float32 7"));
}

TEST(GgufFile, TypedLookupsNameTheKeyWhatWasFoundAndWhatWasExpected) {
  const TempFile file(GgufWriter().add("text", "words").add("flag", false).add("pi", 3.5).bytes());
  const GgufFile gguf = open_or_die(file);
  EXPECT_EQ(gguf.get_string("text"), "words");
  EXPECT_EQ(gguf.get_bool("flag"), false);
  EXPECT_EQ(gguf.get_f32("pi"), 3.5F);
  EXPECT_THAT(gguf.get_string("none").error().message, AllOf(HasSubstr(file.string()), HasSubstr("'none' is missing")));
  EXPECT_THAT(gguf.get_string("pi").error().message, HasSubstr("'pi' is float64 3.5, expected a string"));
  EXPECT_THAT(gguf.get_bool("text").error().message, HasSubstr("'text' is string 'words', expected a bool"));
  EXPECT_THAT(gguf.get_f32("flag").error().message, HasSubstr("'flag' is bool false, expected a float"));
  EXPECT_THAT(gguf.get_strings("flag").error().message, HasSubstr("expected an array of strings"));
}

TEST(GgufFile, ArraysAreDecodedOnDemand) {
  const TempFile file(GgufWriter()
                          .add("odd", std::uint8_t{1})  // leaves what follows unaligned
                          .add_array("f32", std::vector<float>{0.5F, -2.0F})
                          .add_array("f64", std::vector<double>{0.25})
                          .add_array("i8", std::vector<std::int8_t>{-3, 3})
                          .add_array("u64", std::vector<std::uint64_t>{std::uint64_t{1} << 40})
                          .add_array("strings", std::vector<std::string>{"a", "", std::string("n\0l", 3)})
                          .add_array("empty", std::vector<std::string>{})
                          .bytes());
  const GgufFile gguf = open_or_die(file);
  EXPECT_THAT(*gguf.get_f32_array("f32"), ElementsAre(0.5F, -2.0F));
  EXPECT_THAT(*gguf.get_f32_array("f64"), ElementsAre(0.25F));
  EXPECT_THAT(*gguf.get_i32_array("i8"), ElementsAre(-3, 3));
  EXPECT_THAT(*gguf.get_strings("strings"), ElementsAre("a", "", std::string_view("n\0l", 3)));
  EXPECT_THAT(*gguf.get_strings("empty"), ElementsAre());
  EXPECT_THAT(gguf.get_i32_array("u64").error().message,
              AllOf(HasSubstr("element 0"), HasSubstr("'u64'"), HasSubstr("uint64 1099511627776")));
  EXPECT_THAT(gguf.get_f32_array("i8").error().message, HasSubstr("array of int8"));
  EXPECT_THAT(gguf.get_strings("f32").error().message, HasSubstr("array of float32"));
}

TEST(GgufFile, NestedArraysAreKept) {
  const std::string inner = GgufWriter::array_head(GgufType::kUint8, 2) + "\x01\x02";
  const std::string strings = GgufWriter::array_head(GgufType::kString, 1) + test::gguf_string("x");
  const std::string outer = GgufWriter::array_head(GgufType::kArray, 2) + inner + strings;
  const TempFile file(GgufWriter().add_raw("nested", GgufType::kArray, outer).add("after", 9U).bytes());
  const GgufFile gguf = open_or_die(file);
  const auto& array = std::get<GgufArray>(gguf.find("nested")->value);
  ASSERT_EQ(array.arrays.size(), 2U);
  const auto& numbers = std::get<GgufArray>(array.arrays[0].value);
  EXPECT_EQ(std::get<std::uint64_t>(gguf_array_element(numbers, 1).value), 2U);
  EXPECT_THAT(std::get<GgufArray>(array.arrays[1].value).strings, ElementsAre("x"));
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
  const GgufTensor* matrix = gguf.find_tensor("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->tensor.type, DType::kQ4_0);
  EXPECT_EQ(matrix->tensor.rows, 2);
  EXPECT_EQ(matrix->tensor.cols, 64);
  EXPECT_THAT(matrix->dims, ElementsAre(64, 2));
  EXPECT_EQ(matrix->offset % 32, 0U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(matrix->tensor.data.data()), matrix->tensor.data.size()), blocks);
  EXPECT_EQ(matrix->tensor.data.data(), gguf.file().bytes().data() + matrix->offset);
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
