// What the index of a folder's files takes, counted by the allocations and the comparisons of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "replaced_new.h"
#include "source/folder/checkpoint.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace {

std::atomic<long> num_comparisons{0};

}  // namespace

/// Replaces the C library's, so that comparisons of names are counted.
extern "C" int memcmp(const void* a, const void* b, std::size_t size) noexcept {
  num_comparisons.fetch_add(1, std::memory_order_relaxed);
  const auto *x = static_cast<const unsigned char*>(a), *y = static_cast<const unsigned char*>(b);
  for (std::size_t i = 0; i < size; ++i)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

namespace octavo {
namespace {

struct Taken {
  long allocations, comparisons;
};

/// What it takes to find that of so many names in an index the last one is in no file.
Taken taken_by(int num_names) {
  test::SafetensorsWriter writer;
  std::string index = R"({"weight_map": {)";
  for (int i = 0; i < num_names; ++i) {
    const std::string name = fmt::format("tensor.{:05}", i);
    index += fmt::format(R"({}"{}": "a.safetensors")", i == 0 ? "" : ", ", name);
    if (i + 1 < num_names) writer.add(name, "F32", {1}, test::bytes_of(std::vector<float>{1}));
  }
  const test::TempFolder folder;
  folder.write("a.safetensors", writer.bytes());
  folder.write("model.safetensors.index.json", index + "}}");
  const Taken before{test::num_allocations, num_comparisons};
  const auto opened = Checkpoint::open(folder.path(), {}, {});
  const Taken behind{test::num_allocations, num_comparisons};
  EXPECT_THAT(opened ? "" : opened.error().message,
              testing::HasSubstr(fmt::format("lacks tensor 'tensor.{:05}'", num_names - 1)));
  return {behind.allocations - before.allocations, behind.comparisons - before.comparisons};
}

TEST(CheckpointIndex, TakesAsMuchForEachNameHoweverManyThereAre) {
  taken_by(10);  // what is made once
  const Taken of_few = taken_by(200), of_many = taken_by(1600);
  EXPECT_GT(of_few.allocations, 200);
  EXPECT_LT(of_many.allocations, 9 * of_few.allocations) << "eight times as many names";
  EXPECT_GT(of_few.comparisons, 200);
  EXPECT_LT(of_many.comparisons, 16 * of_few.comparisons) << "eight times as many names, each found in ordered ones";
}

}  // namespace
}  // namespace octavo
