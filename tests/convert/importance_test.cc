#include "convert/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/gguf_writer.h"
#include "support/memory_source.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::bytes_of;
using test::MemorySource;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string dat_entry(const std::string& name, std::int32_t calls, const std::vector<float>& values) {
  return bytes_of(static_cast<std::int32_t>(name.size())) + name + bytes_of(calls) +
         bytes_of(static_cast<std::int32_t>(values.size())) + bytes_of(values);
}

Result<Importance> parse(const std::string& bytes) {
  return Importance::parse_dat(std::as_bytes(std::span(bytes)), "imatrix.dat");
}

std::string error_of(const std::string& bytes) {
  const auto parsed = parse(bytes);
  return parsed ? "" : parsed.error().message;
}

SourceTensor tensor_of(std::string_view name, std::vector<std::uint64_t> dims) {
  return {.name = name, .dims = std::move(dims)};
}

std::vector<float> values_for(const Importance& importance, const SourceTensor& tensor) {
  const auto values = importance.of(tensor);
  EXPECT_TRUE(values) << values.error().message;
  return {values->begin(), values->end()};
}

TEST(ImportanceDat, DividesSumsByCalls) {
  const auto importance = parse(bytes_of(2) + dat_entry("a.weight", 2, {2, 4, 6}) + dat_entry("b.weight", 0, {1, 1}));
  ASSERT_TRUE(importance) << importance.error().message;
  EXPECT_EQ(importance->num_tensors(), 2U);
  EXPECT_THAT(values_for(*importance, tensor_of("a.weight", {3, 7})), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_for(*importance, tensor_of("c.weight", {3, 7})), ElementsAre());
}

// What follows the entries says which text was read; nobody needs it here.
TEST(ImportanceDat, LeavesWhatFollowsTheEntries) {
  EXPECT_TRUE(parse(bytes_of(1) + dat_entry("a.weight", 1, {1}) + "a data set"));
}

TEST(ImportanceDat, GivesColumnsThatWereNeverUsedALittle) {
  const auto importance = parse(bytes_of(2) + dat_entry("a", 1, {0, 2}) + dat_entry("b", 1, {0, 0}));
  ASSERT_TRUE(importance) << importance.error().message;
  EXPECT_THAT(values_for(*importance, tensor_of("a", {2, 1})), ElementsAre(1e-6F, 2));
  EXPECT_THAT(values_for(*importance, tensor_of("b", {2, 1})), ElementsAre(1, 1));
}

TEST(ImportanceDat, RefusesWhatIsNone) {
  EXPECT_THAT(error_of(""), HasSubstr("imatrix.dat: truncated: entries"));
  EXPECT_THAT(error_of(bytes_of(0)), HasSubstr("found 0 entries at offset 0"));
  EXPECT_THAT(error_of(bytes_of(-1)), HasSubstr("found -1 entries"));
  EXPECT_THAT(error_of(bytes_of(1) + bytes_of(100000)), HasSubstr("100000 bytes of a name at offset 4"));
  EXPECT_THAT(error_of(bytes_of(1) + dat_entry("a", -1, {1})), HasSubstr("-1 calls"));
  EXPECT_THAT(error_of(bytes_of(1) + bytes_of(1) + "a" + bytes_of(1) + bytes_of(2000000000)),
              HasSubstr("the values at offset 17 needs 8000000000 bytes, 0 remain"));
  EXPECT_THAT(error_of(bytes_of(1) + dat_entry("a", 1, {-1.0F})), HasSubstr("entry 'a' has the value -1"));
  EXPECT_THAT(error_of(bytes_of(1) + dat_entry("a", 1, {kInfinity})), HasSubstr("entry 'a' has the value inf"));
  EXPECT_THAT(error_of(bytes_of(2) + dat_entry("a", 1, {1}) + dat_entry("a", 1, {1})), HasSubstr("two entries"));
}

TEST(ImportanceGguf, HasACountForEachMatrix) {
  MemorySource source;
  source.add_tensor("e.weight.in_sum2", {2, 3}, DType::kF32, bytes_of(std::vector<float>{2, 4, 9, 9, 3, 6}));
  source.add_tensor("e.weight.counts", {1, 3}, DType::kF32, bytes_of(std::vector<float>{2, 0, 3}));
  const auto importance = Importance::from_source(source);
  ASSERT_TRUE(importance) << importance.error().message;
  EXPECT_THAT(values_for(*importance, tensor_of("e.weight", {2, 5, 3})), ElementsAre(1, 2, 1, 1, 1, 2))
      << "an expert that saw nothing says nothing";
}

TEST(ImportanceGguf, RefusesWhatIsNone) {
  const auto error = [](const MemorySource& source) { return Importance::from_source(source).error().message; };
  EXPECT_THAT(error(MemorySource()), HasSubstr("has no tensor NAME.in_sum2"));
  MemorySource uncounted;
  uncounted.add_tensor("a.in_sum2", {2, 1}, DType::kF32, bytes_of(std::vector<float>{1, 1}));
  EXPECT_THAT(error(uncounted), HasSubstr("'a' has sums and no counts"));
  MemorySource half;
  half.add_tensor("a.in_sum2", {2, 1}, DType::kF16, "abcd").add_tensor("a.counts", {1}, DType::kF32, bytes_of(1.0F));
  EXPECT_THAT(error(half), HasSubstr("has type F16, expected F32"));
  MemorySource uneven;
  uneven.add_tensor("a.in_sum2", {3}, DType::kF32, bytes_of(std::vector<float>{1, 1, 1}));
  uneven.add_tensor("a.counts", {2}, DType::kF32, bytes_of(std::vector<float>{1, 1}));
  EXPECT_THAT(error(uneven), HasSubstr("has 3 sums and 2 counts"));
}

TEST(Importance, RefusesATensorOfAnotherShape) {
  const auto importance = parse(bytes_of(1) + dat_entry("a", 1, {1, 2, 3}));
  ASSERT_TRUE(importance);
  const auto values = importance->of(tensor_of("a", {4, 2}));
  ASSERT_FALSE(values);
  EXPECT_THAT(values.error().message, HasSubstr("has 3 values for 'a', expected 4"));
}

TEST(Importance, IsReadFromFilesOfBothForms) {
  const test::TempFile dat(bytes_of(1) + dat_entry("a", 1, {5}));
  test::GgufWriter writer;
  writer.add("general.type", "imatrix");
  writer.add_tensor("a.in_sum2", {1, 1}, DType::kF32, bytes_of(10.0F));
  writer.add_tensor("a.counts", {1, 1}, DType::kF32, bytes_of(2.0F));
  const test::TempFile gguf(writer.bytes());
  for (const auto& path : {dat.path(), gguf.path()}) {
    const auto importance = Importance::load(path);
    ASSERT_TRUE(importance) << importance.error().message;
    EXPECT_THAT(values_for(*importance, tensor_of("a", {1, 1})), ElementsAre(5));
  }
  EXPECT_FALSE(Importance::load("/nonexistent/imatrix"));
}

}  // namespace
}  // namespace octavo
