// Early files of Qwen3-Next: one projection becomes two tensors, wherever a read begins and ends.
#include "source/gguf/split_by_key_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::TempFile;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kRows = 2 * (2 + 2 + 3 + 3);  // two key heads of 2 dimensions, three rows of V each

/// A file whose projection has rows that say their number, in front of another tensor.
std::string early_file(std::uint64_t rows = kRows, bool has_later = false) {
  test::GgufWriter writer;
  writer.add("general.architecture", std::string_view("qwen3next"));
  writer.add("qwen3next.ssm.group_count", 2U).add("qwen3next.ssm.state_size", 2U).add("qwen3next.ssm.inner_size", 6U);
  std::vector<float> numbers(rows * 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i / 2);
  const auto bytes = std::as_bytes(std::span(numbers));
  const std::string data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  writer.add_tensor("blk.0.ssm_in.weight", {2, rows}, DType::kF32, data);
  writer.add_tensor("blk.0.ssm_out.weight", {2, 1}, DType::kF32, data.substr(0, 8));
  if (has_later) writer.add_tensor("blk.0.attn_gate.weight", {2, 1}, DType::kF32, data.substr(0, 8));
  return writer.bytes();
}

std::vector<float> rows_of(const ModelSource& source, std::string_view name) {
  const SourceTensor& tensor = *source.find_tensor(name);
  std::vector<float> numbers(tensor.tensor.bytes() / sizeof(float)), rows;
  EXPECT_TRUE(source.read(tensor.offset, std::as_writable_bytes(std::span(numbers))));
  for (std::size_t i = 0; i < numbers.size(); i += 2) rows.push_back(numbers[i]);
  return rows;
}

TEST(SplitByKeyHead, QKAndVOfAllKeyHeadsLieOneBehindAnotherAndTheGatesApart) {
  const TempFile file(early_file(), ".gguf");
  const auto source = open_model(file.path()).value();
  EXPECT_EQ(source->find_tensor("blk.0.ssm_in.weight"), nullptr);
  EXPECT_THAT(rows_of(*source, "blk.0.attn_qkv.weight"), ElementsAre(0, 1, 10, 11, 2, 3, 12, 13, 4, 5, 6, 14, 15, 16));
  EXPECT_THAT(rows_of(*source, "blk.0.attn_gate.weight"), ElementsAre(7, 8, 9, 17, 18, 19));
  EXPECT_THAT(rows_of(*source, "blk.0.ssm_out.weight"), ElementsAre(0));
  EXPECT_EQ(source->find_tensor("blk.0.attn_qkv.weight")->dims, (std::vector<std::uint64_t>{2, 14}));
}

TEST(SplitByKeyHead, AnyPartOfATensorIsReadAsTheWholeIs) {
  const TempFile file(early_file(), ".gguf");
  const auto source = open_model(file.path()).value();
  const SourceTensor& tensor = *source->find_tensor("blk.0.attn_qkv.weight");
  std::vector<std::byte> whole(tensor.tensor.bytes());
  ASSERT_TRUE(source->read(tensor.offset, whole));
  for (std::size_t begin = 0; begin < whole.size(); begin += 5)
    for (std::size_t size = 0; begin + size <= whole.size(); size += 9) {
      std::vector<std::byte> part(size);
      ASSERT_TRUE(source->read(tensor.offset + begin, part));
      EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(begin, size))) << begin << ' ' << size;
      source->prefetch(tensor.offset + begin, size);
      source->drop(tensor.offset + begin, size);
    }
  const SourceTensor& last = *source->find_tensor("blk.0.attn_gate.weight");
  std::vector<std::byte> beyond(last.tensor.bytes() + 1);
  EXPECT_FALSE(source->read(last.offset, beyond));
}

TEST(SplitByKeyHead, RowsMustFitTheHeadsAndNothingIsThereTwice) {
  const auto error = [](const std::string& bytes) {
    const TempFile file(bytes, ".gguf");
    const auto source = open_model(file.path());
    return source ? "no error" : source.error().message;
  };
  EXPECT_THAT(error(early_file(kRows + 2)), HasSubstr("blk.0.ssm_in.weight has 22 rows, expected 20"));
  EXPECT_THAT(error(early_file(kRows, true)),
              HasSubstr("both blk.0.ssm_in.weight and blk.0.attn_gate.weight are there"));
}

TEST(SplitByKeyHead, AFileOfAnotherArchitectureStaysAsItIs) {
  test::GgufWriter writer;
  writer.add("general.architecture", std::string_view("mamba2"));
  writer.add_tensor("blk.0.ssm_in.weight", {2, 1}, DType::kF32, std::string(8, '\0'));
  const TempFile file(writer.bytes(), ".gguf");
  EXPECT_NE(open_model(file.path()).value()->find_tensor("blk.0.ssm_in.weight"), nullptr);
}

}  // namespace
}  // namespace octavo
