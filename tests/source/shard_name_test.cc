#include "source/shard_name.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo {
namespace {

TEST(ShardName, TellsStemNumberAndCount) {
  const auto name = ShardName::parse("folder/Qwen3-235B-Q4_K_M-00002-of-00003.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "folder/Qwen3-235B-Q4_K_M");
  EXPECT_EQ(name->number, 2U);
  EXPECT_EQ(name->count, 3U);
}

TEST(ShardName, OtherNamesAreNone) {
  for (const char* name : {"model.gguf", "model-00000-of-00003.gguf", "model-00004-of-00003.gguf",
                           "model-0001-of-0003.gguf", "model-00001-of-00003", "model-00001-of-00513.gguf",
                           "00001-of-00003.gguf", "model-0000a-of-00003.gguf", "model-00001_of-00003.gguf", ""})
    EXPECT_FALSE(ShardName::parse(name)) << name;
}

RC_GTEST_PROP(ShardName, NamesOfShardsAreReadAsTheyAreMade, ()) {
  const auto count = *rc::gen::inRange<std::uint32_t>(1, ShardName::kMaxCount + 1);
  const auto number = *rc::gen::inRange<std::uint32_t>(1, count + 1);
  const ShardName made{.stem = *rc::gen::arbitrary<std::string>(), .number = 1, .count = count};
  const auto read = ShardName::parse(made.file_name(number));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->stem == made.stem);
  RC_ASSERT(read->number == number);
  RC_ASSERT(read->count == count);
}

TEST(ModelStem, LeavesOutSuffixAndNumbers) {
  EXPECT_EQ(model_stem("/models/tiny.Q4_1.gguf"), "tiny.Q4_1");
  EXPECT_EQ(model_stem("/models/tiny.Q4_1-00002-of-00003.gguf"), "tiny.Q4_1");
}

}  // namespace
}  // namespace octavo
