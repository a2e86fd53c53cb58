#include "source/metadata.h"

#include <gtest/gtest.h>

#include <string>

#include "support/gguf_writer.h"

namespace octavo::test {
namespace {

template <class T>
MetadataValue second_of(T first, T second) {
  const std::string bytes = "x" + bytes_of(first) + bytes_of(second);  // not aligned
  return element_of({.element_type = metadata_type_of<T>(),
                     .size = 2,
                     .bytes = std::as_bytes(std::span(bytes)).subspan(1),
                     .arrays = {}},
                    1);
}

TEST(Metadata, ElementsAreWidenedAndSayWhatTheyWere) {
  EXPECT_EQ(describe(second_of<std::uint8_t>(1, 255)), "uint8 255");
  EXPECT_EQ(describe(second_of<std::int8_t>(1, -128)), "int8 -128");
  EXPECT_EQ(describe(second_of<std::uint16_t>(1, 65535)), "uint16 65535");
  EXPECT_EQ(describe(second_of<std::int16_t>(1, -2)), "int16 -2");
  EXPECT_EQ(describe(second_of<std::uint32_t>(1, 4294967295)), "uint32 4294967295");
  EXPECT_EQ(describe(second_of<std::int32_t>(1, -3)), "int32 -3");
  EXPECT_EQ(describe(second_of<std::uint64_t>(1, std::uint64_t{1} << 63)), "uint64 9223372036854775808");
  EXPECT_EQ(describe(second_of<std::int64_t>(1, -4)), "int64 -4");
  EXPECT_EQ(describe(second_of<float>(1, 0.5F)), "float32 0.5");
  EXPECT_EQ(describe(second_of<double>(1, 0.1)), "float64 0.1");
  EXPECT_EQ(describe(second_of<bool>(false, true)), "bool true");
}

TEST(Metadata, TextsAndArraysAreDescribedInShort) {
  const MetadataArray texts{.element_type = MetadataType::kString, .size = 2, .strings = {"a", "b\n"}, .arrays = {}};
  EXPECT_EQ(describe(element_of(texts, 1)), "string 'b\\x0a'");
  EXPECT_EQ(describe({MetadataType::kArray, texts}), "array of 2 string");
  const MetadataArray nested{
      .element_type = MetadataType::kArray, .size = 1, .arrays = {{MetadataType::kArray, texts}}};
  EXPECT_EQ(describe({MetadataType::kArray, nested}), "array of 1 array");
  EXPECT_EQ(describe(element_of(nested, 0)), "array of 2 string");
}

TEST(Metadata, AnUnknownTypeHasAName) {
  EXPECT_EQ(metadata_type_name(MetadataType::kFloat64), "float64");
  EXPECT_EQ(metadata_type_name(static_cast<MetadataType>(kNumMetadataTypes)), "unknown");
}

TEST(MetadataDeathTest, AnElementBehindTheEndIsABug) {
  EXPECT_DEATH(element_of({.element_type = MetadataType::kUint8, .size = 0, .arrays = {}}, 0),
               "index 0 of an array of 0");
}

}  // namespace
}  // namespace octavo::test
