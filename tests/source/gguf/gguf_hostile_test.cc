// Broken and hostile files: one error that says where, what was found and what was expected. Files are parsed from heap
// memory of their exact size, so that a sanitizer sees any read past the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "source/gguf/file_head.h"
#include "source/gguf/gguf_file.h"
#include "source/gguf/gguf_parser.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::bytes_of;
using test::GgufWriter;
using test::TempFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The message of the error that these bytes give; "accepted" if they give none.
std::string message_of(const std::string& bytes) {
  const auto heap = std::make_unique<std::byte[]>(bytes.size());
  std::memcpy(heap.get(), bytes.data(), bytes.size());
  const auto file = GgufFile::parse({heap.get(), bytes.size()}, "model.gguf");
  return file ? "accepted" : file.error().message;
}

/// A valid file with a bit of everything.
std::string valid_file(std::uint32_t version = 3) {
  return GgufWriter(version)
      .add("general.architecture", "llama")
      .add("general.alignment", 32U)
      .add("flag", true)
      .add("ratio", 0.5F)
      .add_array("numbers", std::vector<std::int32_t>{1, 2, 3})
      .add_array("words", std::vector<std::string>{"one", "two"})
      .add_raw("nested", MetadataType::kArray,
               GgufWriter::array_head(MetadataType::kArray, 1) + GgufWriter::array_head(MetadataType::kUint8, 1) + "x")
      .add_tensor("norm", {8}, DType::kF32, bytes_of(std::vector<float>(8, 1.0F)))
      .add_tensor("weight", {32, 2}, DType::kQ8_0, std::string(68, 'w'))
      .bytes();
}

TEST(GgufHostile, AFileCutAtAnyByteIsRefused) {
  for (const std::uint32_t version : {2U, 3U}) {
    const std::string whole = valid_file(version);
    ASSERT_EQ(message_of(whole), "accepted");
    for (std::size_t size = 0; size < whole.size(); ++size)
      ASSERT_THAT(message_of(whole.substr(0, size)), AllOf(StartsWith("model.gguf: "), HasSubstr("truncated"))) << size;
  }
}

RC_GTEST_PROP(GgufHostile, AnyChangedBytesGiveAFileOrAnError, ()) {
  std::string bytes = valid_file();
  const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
      rc::gen::pair(rc::gen::inRange<std::size_t>(0, bytes.size()), rc::gen::arbitrary<char>()));
  for (const auto& [at, byte] : changes) bytes[at] = byte;
  RC_ASSERT(!message_of(bytes).empty());
}

TEST(GgufHostile, EachByteSetToEachExtremeGivesAFileOrAnError) {
  const std::string whole = valid_file();
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const char byte : {'\x00', '\x01', '\x7F', '\x80', '\xFF'}) {
      std::string bytes = whole;
      bytes[i] = byte;
      ASSERT_FALSE(message_of(bytes).empty());
    }
}

TEST(GgufHostile, AnotherFormatIsNamed) {
  EXPECT_THAT(message_of("hello, world: this is text"), HasSubstr("begins with 'hell', expected 'GGUF'"));
  EXPECT_THAT(message_of("PK\x03\x04 and so on"), HasSubstr("zip archive"));
  EXPECT_THAT(message_of(bytes_of(std::uint64_t{99}) + "{\"__metadata__\":{}}"), HasSubstr("safetensors"));
  EXPECT_THAT(message_of("version https://git-lfs.github.com/spec/v1\noid"), HasSubstr("Git LFS pointer"));
  EXPECT_THAT(message_of("tjgg\x03\x00\x00\x00"), HasSubstr("before GGUF"));
  EXPECT_THAT(message_of("\x1b[31mred"), HasSubstr("'\\x1b[31'"));
}

TEST(GgufHostile, OtherVersionsAreNamed) {
  EXPECT_THAT(message_of(GgufWriter(1).bytes()), HasSubstr("GGUF version 1, expected 2 or 3"));
  EXPECT_THAT(message_of(GgufWriter(4).bytes()), HasSubstr("GGUF version 4 at offset 4, expected 2 or 3"));
  EXPECT_THAT(message_of(GgufWriter(0x03000000).bytes()), HasSubstr("big-endian GGUF file (version 3)"));
}

TEST(GgufHostile, CountsThatTheFileCannotHoldAreRefusedAtOnce) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t count : {kHuge, kMax}) {
    EXPECT_THAT(message_of(GgufWriter().claim_counts(count, 0).bytes()),
                AllOf(HasSubstr("the number of tensors at offset 8"), HasSubstr(std::to_string(count))));
    EXPECT_THAT(message_of(GgufWriter().claim_counts(0, count).bytes()),
                AllOf(HasSubstr("the number of metadata keys at offset 16"), HasSubstr(std::to_string(count))));
    for (const MetadataType type :
         {MetadataType::kUint8, MetadataType::kFloat64, MetadataType::kString, MetadataType::kArray})
      EXPECT_THAT(
          message_of(GgufWriter().add_raw("list", MetadataType::kArray, GgufWriter::array_head(type, count)).bytes()),
          AllOf(HasSubstr("'list'"), HasSubstr(std::to_string(count))));
    EXPECT_THAT(message_of(GgufWriter().add_raw("text", MetadataType::kString, bytes_of(count)).bytes()),
                AllOf(HasSubstr("'text'"), HasSubstr(std::to_string(count))));
  }
}

TEST(GgufHostile, ArraysNestedTooDeepAreRefused) {
  std::string value;
  for (int i = 0; i < 1000; ++i) value += GgufWriter::array_head(MetadataType::kArray, 1);
  EXPECT_THAT(message_of(GgufWriter().add_raw("deep", MetadataType::kArray, value).bytes()),
              AllOf(HasSubstr("'deep'"), HasSubstr("nested deeper than 8")));
}

TEST(GgufHostile, TooManyNestedArraysAreRefused) {
  // Eight keys of which each stays below the bound of one count.
  const std::uint64_t count = GgufLimits::kNestedArrays / 4;
  std::string value = GgufWriter::array_head(MetadataType::kArray, count);
  for (std::uint64_t i = 0; i < count; ++i) value += GgufWriter::array_head(MetadataType::kUint8, 0);
  GgufWriter writer;
  for (int i = 0; i < 8; ++i) writer.add_raw("key" + std::to_string(i), MetadataType::kArray, value);
  EXPECT_THAT(message_of(writer.bytes()), AllOf(HasSubstr("'key4'"), HasSubstr("more than 65536 nested arrays")));
}

TEST(GgufHostile, KeysAreUniqueNonEmptyUtf8) {
  EXPECT_THAT(message_of(GgufWriter().add("a", 1U).add("a", 2U).bytes()), HasSubstr("metadata key 'a' appears twice"));
  EXPECT_THAT(message_of(GgufWriter().add("", 1U).bytes()), HasSubstr("metadata key 0 at offset 24 has 0 bytes"));
  EXPECT_THAT(message_of(GgufWriter().add("a\xFF", 1U).bytes()), HasSubstr("not valid UTF-8: 'a\\xff'"));
  EXPECT_THAT(message_of(GgufWriter().add(std::string(70000, 'k'), 1U).bytes()), HasSubstr("has 70000 bytes"));
}

TEST(GgufHostile, ValuesHaveAKnownTypeAndBoolsAreZeroOrOne) {
  EXPECT_THAT(message_of(GgufWriter().add_raw("k", static_cast<MetadataType>(13), "x").bytes()),
              HasSubstr("the value of key 'k' at offset 33 has type 13, expected 0 to 12"));
  EXPECT_THAT(message_of(GgufWriter().add_raw("k", MetadataType::kBool, "\x02").bytes()),
              HasSubstr("is the bool 2, expected 0 or 1"));
  EXPECT_THAT(message_of(GgufWriter()
                             .add_raw("k", MetadataType::kArray,
                                      GgufWriter::array_head(MetadataType::kBool, 3) + std::string("\x00\x01\x07", 3))
                             .bytes()),
              HasSubstr("is the bool 7, expected 0 or 1"));
}

TEST(GgufHostile, TheAlignmentIsAPowerOfTwo) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 33U, 48U})
    EXPECT_THAT(message_of(GgufWriter().add("general.alignment", alignment).bytes()),
                HasSubstr(fmt::format("'general.alignment' is {}, expected a power of two", alignment)));
  EXPECT_THAT(message_of(GgufWriter().add("general.alignment", "32").bytes()), HasSubstr("is string '32'"));
}

std::string one_tensor(const std::vector<std::uint64_t>& dims, DType type = DType::kF32) {
  return message_of(GgufWriter().add_tensor("w", dims, type, std::string(128, 'x')).bytes());
}

TEST(GgufHostile, DimensionsArePositiveAndTheirProductFits) {
  EXPECT_EQ(one_tensor({8, 4}), "accepted");
  EXPECT_THAT(one_tensor({}), HasSubstr("tensor 'w' has 0 dimensions, expected 1 to 4"));
  EXPECT_THAT(one_tensor({1, 1, 1, 1, 1}), HasSubstr("has 5 dimensions"));
  EXPECT_THAT(one_tensor({8, 0}), HasSubstr("[8, 0], expected none to be 0"));
  constexpr std::uint64_t kBig = std::uint64_t{1} << 32;
  EXPECT_THAT(one_tensor({kBig, kBig}), HasSubstr("does not fit in 63 bits"));
  EXPECT_THAT(one_tensor({kBig, kBig, 0}), HasSubstr("expected none to be 0"));
  EXPECT_THAT(one_tensor({kBig, std::uint64_t{1} << 30}), HasSubstr("larger than the file"));
  EXPECT_THAT(one_tensor({std::numeric_limits<std::uint64_t>::max()}), HasSubstr("does not fit in 63 bits"));
  EXPECT_THAT(one_tensor({48}, DType::kQ4_0), HasSubstr("rows of 48 weights, expected a multiple of 32 for type Q4_0"));
}

TEST(GgufHostile, UnsupportedTensorTypesAreNamedWithThoseThatAreSupported) {
  const auto typed = [](std::uint32_t id) {
    return message_of(GgufWriter().add_raw_tensor("blk.0.w", {256}, id, std::string(64, 'x')).bytes());
  };
  EXPECT_THAT(typed(36), AllOf(HasSubstr("'blk.0.w' has the type I2_S (36), which is not supported; supported are"),
                               HasSubstr(supported_dtype_names())));
  EXPECT_THAT(typed(142), HasSubstr("PQ2_0 (142), which is not supported, as models of it rotate their activations"));
  EXPECT_THAT(typed(138), HasSubstr("IQ3_K (138)")) << "of a fork of llama.cpp";
  EXPECT_THAT(typed(4711), HasSubstr("unknown (4711)"));
}

TEST(GgufHostile, OlderBlocksOfQ2_0AreToldApartByTheirBytes) {
  const auto of_bytes = [](std::size_t first, std::size_t second) {
    return message_of(GgufWriter()
                          .add_raw_tensor("a", {1024, 2}, 42, std::string(first, 'x'))
                          .add_raw_tensor("b", {1024, 2}, 42, std::string(second, 'x'))
                          .bytes());
  };
  EXPECT_EQ(of_bytes(576, 576), "accepted");
  EXPECT_THAT(of_bytes(544, 544), HasSubstr("tensor 'a' has 34 bytes for 128 weights, an older form of Q2_0"));
  EXPECT_THAT(of_bytes(576, 544), HasSubstr("tensor 'b' has 34 bytes for 128 weights"));
  EXPECT_THAT(of_bytes(500, 576), HasSubstr("overlap"));
  EXPECT_THAT(of_bytes(576, 500), HasSubstr("truncated"));
}

TEST(GgufHostile, TensorNamesAreUniqueAndShort) {
  const std::string data(4, 'x');
  EXPECT_THAT(
      message_of(GgufWriter().add_tensor("w", {1}, DType::kF32, data).add_tensor("w", {1}, DType::kF32, data).bytes()),
      HasSubstr("tensor 'w' appears twice"));
  EXPECT_THAT(message_of(GgufWriter().add_tensor(std::string(65, 'n'), {1}, DType::kF32, data).bytes()),
              HasSubstr("tensor 0 at offset 24 has 65 bytes, expected 1 to 64"));
}

TEST(GgufHostile, TensorsLieAlignedInsideTheFileAndApart) {
  const auto at = [](std::uint64_t offset) {
    return message_of(GgufWriter()
                          .add_tensor("first", {16}, DType::kF32, std::string(64, 'x'))
                          .add_raw_tensor("second", {16}, 0, std::string(64, 'y'), offset)
                          .bytes());
  };
  EXPECT_EQ(at(64), "accepted");
  EXPECT_THAT(at(68), HasSubstr("tensor 'second' is at offset 68 of the data, expected a multiple of the alignment"));
  EXPECT_THAT(at(96), HasSubstr("tensor 'second' has 64 bytes at offset 96 of the data, which has 128"));
  EXPECT_THAT(at(std::uint64_t{1} << 63), HasSubstr("truncated: tensor 'second'"));
  EXPECT_THAT(at(~std::uint64_t{31}), HasSubstr("truncated: tensor 'second'"));
  EXPECT_THAT(at(32), HasSubstr("tensors 'first' and 'second' overlap"));
}

TEST(GgufHostile, AFileCutShortWhileItsHeadIsReadIsAnError) {
  const TempFile file(std::string(3 << 20, 'x'));
  const MappedFile mapped = *MappedFile::open(file.path());
  FileHead head(mapped);
  EXPECT_TRUE(head.load(100));
  std::filesystem::resize_file(file.path(), 2 << 20);
  EXPECT_TRUE(head.load(2000));
  EXPECT_EQ(mapped.bytes()[1999], std::byte{'x'});
  const auto loaded = head.load((2 << 20) + 1);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, AllOf(StartsWith(file.string()), HasSubstr("was cut short while it was in use")));
}

TEST(GgufHostile, AHeadBeyondTheBoundIsRefusedAndTakesNoMemory) {
  const std::string bytes =
      GgufWriter()
          .add_raw("words", MetadataType::kArray, GgufWriter::array_head(MetadataType::kUint8, FileHead::kMaxBytes))
          .bytes();
  const TempFile file(bytes);
  std::filesystem::resize_file(file.path(), FileHead::kMaxBytes + (1 << 20));  // sparse
  const auto gguf = GgufFile::open(file.path());
  ASSERT_FALSE(gguf);
  EXPECT_THAT(gguf.error().message, HasSubstr("metadata and tensor directory have more than 268435456 bytes"));
}

TEST(GgufHostile, WhatIsNoFileAtAllIsRefused) {
  const auto message = [](const std::filesystem::path& path) {
    const auto file = GgufFile::open(path);
    return file ? std::string("accepted") : file.error().message;
  };
  EXPECT_THAT(message("/no/such/model.gguf"), HasSubstr("/no/such/model.gguf: cannot open"));
  EXPECT_THAT(message(std::filesystem::temp_directory_path()), HasSubstr("is a directory"));
  const TempFile empty("");
  EXPECT_THAT(message(empty.path()), HasSubstr("the file is empty"));
}

}  // namespace
}  // namespace octavo
