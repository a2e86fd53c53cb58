// A source gives what was written into it, by type, and its errors say what they found: of every form alike.
#include "source/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "source/open_model.h"
#include "support/memory_source.h"
#include "support/temp_file.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Gguf {
  using Writer = GgufWriter;
  explicit Gguf(const Writer& writer)
      : file(writer.bytes(), ".gguf"), opened(open_model(file.path()).value()), source(*opened) {}

  TempFile file;
  std::unique_ptr<const ModelSource> opened;
  const ModelSource& source;
};

struct Memory {
  using Writer = MemorySource;
  explicit Memory(const Writer& writer) : source(writer) {}

  const ModelSource& source;
};

template <class Form>
class ModelSourceOf : public testing::Test {};
using Forms = testing::Types<Gguf, Memory>;
TYPED_TEST_SUITE(ModelSourceOf, Forms);

TYPED_TEST(ModelSourceOf, IntegersOfAnyWidthAndSignAreAcceptedWhereTheyFit) {
  typename TypeParam::Writer writer;
  writer.add("small", std::uint8_t{7}).add("signed", std::int64_t{7}).add("negative", std::int32_t{-1});
  writer.add("large", std::uint64_t{1} << 32).add("float", 7.0F);
  const TypeParam form(writer);
  const ModelSource& source = form.source;
  EXPECT_EQ(source.get_u32("small"), 7U);
  EXPECT_EQ(source.get_u32("signed"), 7U);
  EXPECT_EQ(source.get_u64("large"), std::uint64_t{1} << 32);
  EXPECT_THAT(source.get_u32("large").error().message, AllOf(HasSubstr(source.name()), HasSubstr("'large'"),
                                                             HasSubstr("uint64 4294967296"), HasSubstr("expected")));
  EXPECT_THAT(source.get_u64("negative").error().message, HasSubstr("int32 -1"));
  EXPECT_THAT(source.get_u32("float").error().message, HasSubstr("float32 7"));
}

TYPED_TEST(ModelSourceOf, LookupsNameTheKeyWhatWasFoundAndWhatWasExpected) {
  typename TypeParam::Writer writer;
  writer.add("text", "words").add("flag", false).add("pi", 3.5);
  const TypeParam form(writer);
  const ModelSource& source = form.source;
  EXPECT_EQ(source.get_string("text"), "words");
  EXPECT_EQ(source.get_bool("flag"), false);
  EXPECT_EQ(source.get_f32("pi"), 3.5F);
  EXPECT_THAT(source.get_string("none").error().message,
              AllOf(HasSubstr(source.name()), HasSubstr("'none' is missing")));
  EXPECT_THAT(source.get_string("pi").error().message, HasSubstr("'pi' is float64 3.5, expected a string"));
  EXPECT_THAT(source.get_bool("text").error().message, HasSubstr("'text' is string 'words', expected a bool"));
  EXPECT_THAT(source.get_f32("flag").error().message, HasSubstr("'flag' is bool false, expected a float"));
  EXPECT_THAT(source.get_strings("flag").error().message, HasSubstr("expected an array of strings"));
}

TYPED_TEST(ModelSourceOf, ArraysAreDecodedOnDemand) {
  typename TypeParam::Writer writer;
  writer.add("odd", std::uint8_t{1});  // leaves what follows unaligned
  writer.add_array("f32", std::vector<float>{0.5F, -2.0F}).add_array("f64", std::vector<double>{0.25});
  writer.add_array("i8", std::vector<std::int8_t>{-3, 3});
  writer.add_array("u64", std::vector<std::uint64_t>{std::uint64_t{1} << 40});
  writer.add_array("strings", std::vector<std::string>{"a", "", std::string("n\0l", 3)});
  writer.add_array("empty", std::vector<std::string>{});
  const TypeParam form(writer);
  const ModelSource& source = form.source;
  EXPECT_THAT(*source.get_f32_array("f32"), ElementsAre(0.5F, -2.0F));
  EXPECT_THAT(*source.get_f32_array("f64"), ElementsAre(0.25F));
  EXPECT_THAT(*source.get_i32_array("i8"), ElementsAre(-3, 3));
  EXPECT_THAT(*source.get_strings("strings"), ElementsAre("a", "", std::string_view("n\0l", 3)));
  EXPECT_THAT(*source.get_strings("empty"), ElementsAre());
  EXPECT_THAT(source.get_i32_array("u64").error().message,
              AllOf(HasSubstr("element 0"), HasSubstr("'u64'"), HasSubstr("uint64 1099511627776")));
  EXPECT_THAT(source.get_f32_array("i8").error().message, HasSubstr("array of int8"));
  EXPECT_THAT(source.get_strings("f32").error().message, HasSubstr("array of float32"));
}

TYPED_TEST(ModelSourceOf, KeysAndTensorsKeepTheirOrder) {
  typename TypeParam::Writer writer;
  writer.add("z", 1U).add("a", 2U).add("m", 3U);
  writer.add_tensor("y", {1}, DType::kF32, bytes_of(1.0F)).add_tensor("b", {1}, DType::kF32, bytes_of(2.0F));
  const TypeParam form(writer);
  std::vector<std::string_view> keys, tensors;
  for (const auto& [key, value] : form.source.metadata()) keys.push_back(key);
  for (const SourceTensor& tensor : form.source.tensors()) tensors.push_back(tensor.name);
  EXPECT_THAT(keys, ElementsAre("z", "a", "m"));
  EXPECT_THAT(tensors, ElementsAre("y", "b"));
}

TYPED_TEST(ModelSourceOf, TensorsAreReadAtTheirOffsets) {
  const std::string first(2 * 2 * 18, '\x42'), second = bytes_of(std::vector<float>{1, 2, 3});
  typename TypeParam::Writer writer;
  writer.add_tensor("matrix", {64, 2}, DType::kQ4_0, first).add_tensor("vector", {3}, DType::kF32, second);
  const TypeParam form(writer);
  const ModelSource& source = form.source;
  const SourceTensor* matrix = source.find_tensor("matrix");
  const SourceTensor* vector = source.find_tensor("vector");
  ASSERT_TRUE(matrix != nullptr && vector != nullptr);
  EXPECT_EQ(source.find_tensor("other"), nullptr);
  EXPECT_EQ(matrix->tensor.type, DType::kQ4_0);
  EXPECT_EQ(matrix->tensor.rows, 2);
  EXPECT_EQ(matrix->tensor.cols, 64);
  EXPECT_LT(matrix->offset, vector->offset);
  for (const auto& [tensor, bytes] : {std::pair(matrix, first), std::pair(vector, second)}) {
    std::string read(bytes.size() - 1, '\0');
    ASSERT_TRUE(source.read(tensor->offset + 1, std::as_writable_bytes(std::span(read))));
    EXPECT_EQ(read, bytes.substr(1));
    const auto data = tensor->tensor.data;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()), bytes);
  }
  source.prefetch(matrix->offset, 1U << 20);
  std::string beyond(100, '\0');
  EXPECT_THAT(source.read(vector->offset, std::as_writable_bytes(std::span(beyond))).error().message,
              HasSubstr(source.name()));
}

}  // namespace
}  // namespace octavo::test
