#include "base/cpu_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace octavo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CpuInfo, ScalarAlwaysRunsAndAutoIsTheStrongest) {
  const auto levels = supported_isa_levels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front(), IsaLevel::kScalar);
  EXPECT_EQ(parse_isa("auto"), levels.back());
  for (const IsaLevel level : levels) EXPECT_EQ(parse_isa(isa_name(level)), level);
}

TEST(CpuInfo, UnknownAndMissingLevelsAreErrorsThatListTheOthers) {
  EXPECT_THAT(parse_isa("sse9").error().message, AllOf(HasSubstr("'sse9'"), HasSubstr("scalar")));
  for (int i = 0; i < kNumIsaLevels; ++i) {
    const auto level = static_cast<IsaLevel>(i);
    if (isa_supported(level)) continue;
    const auto parsed = parse_isa(isa_name(level));
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, AllOf(HasSubstr(std::string(isa_name(level))), HasSubstr("not supported")));
  }
}

TEST(CpuInfo, CountsAndSizesArePlausible) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(available_memory_bytes(), std::uint64_t{1} << 20);
  EXPECT_FALSE(cpu_model_name().empty());
}

}  // namespace
}  // namespace octavo
