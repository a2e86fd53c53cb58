#include "source/source_directory.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(SourceDirectory, AKeyIsAddedOnce) {
  SourceDirectory directory;
  *directory.add("b") = {MetadataType::kUint32, std::uint64_t{1}};
  *directory.add("a") = {MetadataType::kUint32, std::uint64_t{2}};
  EXPECT_EQ(directory.add("b"), nullptr);
  ASSERT_EQ(directory.metadata().size(), 2U);
  EXPECT_EQ(directory.metadata()[0].first, "b");
  EXPECT_EQ(directory.find("b"), &directory.metadata()[0].second);
  EXPECT_EQ(std::get<std::uint64_t>(directory.find("a")->value), 2U);
  EXPECT_EQ(directory.find("c"), nullptr);
}

TEST(SourceDirectory, StaysValidWhenItIsMoved) {
  SourceDirectory first;
  first.add("key");
  first.add(SourceTensor{.name = "tensor", .offset = 7});
  const SourceDirectory second = std::move(first);
  EXPECT_EQ(second.find("key"), &second.metadata()[0].second);
  EXPECT_EQ(second.find_tensor("tensor")->offset, 7U);
}

TEST(SourceDirectoryDeathTest, ATensorThatIsThereAlreadyIsABug) {
  SourceDirectory directory;
  directory.add(SourceTensor{.name = "tensor"});
  EXPECT_DEATH(directory.add(SourceTensor{.name = "tensor"}), "tensor tensor");
}

}  // namespace
}  // namespace octavo
