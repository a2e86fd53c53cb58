#include "base/cpu_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
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

// A build with OCTAVO_ISA_LEVELS=native has one level, or amx with avx512vnni.
TEST(CpuInfo, ALevelThatWasNotBuiltIsAnErrorThatSaysHowToBuildIt) {
  const IsaLevels levels{.built = {IsaLevel::kAvx512Vnni},
                         .processor = {IsaLevel::kScalar, IsaLevel::kAvx2, IsaLevel::kAvx512Vnni}};
  EXPECT_EQ(parse_isa("auto", levels), IsaLevel::kAvx512Vnni);
  EXPECT_EQ(parse_isa("avx512vnni", levels), IsaLevel::kAvx512Vnni);
  EXPECT_EQ(parse_isa("avx2", levels).error().message,
            "instruction set 'avx2' is not in this build, which has: avx512vnni; configure it with "
            "-DOCTAVO_ISA_LEVELS=all for every level");
  EXPECT_EQ(parse_isa("neon", levels).error().message,
            "instruction set 'neon' is not supported by this processor, which has: scalar, avx2, avx512vnni");
  EXPECT_EQ(parse_isa("sse9", levels).error().message, "unknown instruction set 'sse9'; here there are: avx512vnni");
}

TEST(CpuInfo, ABuildForAnotherProcessorIsAnErrorAndNoCrash) {
  const IsaLevels levels{.built = {IsaLevel::kAvx512Vnni}, .processor = {IsaLevel::kScalar, IsaLevel::kAvx2}};
  EXPECT_TRUE(levels.usable().empty());
  EXPECT_EQ(parse_isa("auto", levels).error().message,
            "this build has the instruction sets: avx512vnni, and this processor: scalar, avx2; configure it with "
            "-DOCTAVO_ISA_LEVELS=all for every level");
}

/// The answers of a processor and a system, in their order, and how many questions were asked.
struct TileAnswers {
  inline static std::array<bool, 3> answers;
  inline static int asked;

  template <int I>
  static bool answer() {
    ++asked;
    return answers[I];
  }
  static TileSupport with(std::array<bool, 3> given) {
    answers = given;
    asked = 0;
    return tile_support_of({.has_instructions = &answer<0>, .saves_state = &answer<1>, .is_permitted = &answer<2>});
  }
};

TEST(CpuInfo, TilesNeedTheProcessorItsStateAndPermissionWhichIsAskedForLast) {
  EXPECT_EQ(TileAnswers::with({false, true, true}), TileSupport::kNoInstructions);
  EXPECT_EQ(TileAnswers::asked, 1);
  EXPECT_EQ(TileAnswers::with({true, false, true}), TileSupport::kNoState);
  EXPECT_EQ(TileAnswers::asked, 2);
  EXPECT_EQ(TileAnswers::with({true, true, false}), TileSupport::kNoPermission);
  EXPECT_EQ(TileAnswers::with({true, true, true}), TileSupport::kUsable);
  EXPECT_EQ(TileAnswers::asked, 3);
}

TEST(CpuInfo, WhereTilesAreMissingTheErrorSaysWhatIsAndAutoDoesWithout) {
  const std::vector<IsaLevel> without = {IsaLevel::kScalar, IsaLevel::kAvx2, IsaLevel::kAvx512Vnni};
  const auto message = [&](TileSupport support) {
    const IsaLevels levels{.built = {IsaLevel::kAvx512Vnni, IsaLevel::kAmx}, .processor = without, .tiles = support};
    EXPECT_EQ(parse_isa("auto", levels), IsaLevel::kAvx512Vnni);
    return parse_isa("amx", levels).error().message;
  };
  EXPECT_THAT(message(TileSupport::kNoInstructions),
              HasSubstr("'amx' is not supported here: the processor has no amx"));
  EXPECT_THAT(message(TileSupport::kNoState), HasSubstr("does not save the state of tiles"));
  EXPECT_THAT(message(TileSupport::kNoPermission), HasSubstr("the system refused this process the use of tiles"));

  IsaLevels all{.built = {IsaLevel::kAvx512Vnni, IsaLevel::kAmx}, .processor = without};
  all.processor.push_back(IsaLevel::kAmx);
  EXPECT_EQ(parse_isa("auto", all), IsaLevel::kAmx);
  EXPECT_EQ(parse_isa("amx", all), IsaLevel::kAmx);
}

TEST(CpuInfo, ALevelWithBitsOfItsOwnIsTakenWhereItIsNamedAlone) {
  const std::vector<IsaLevel> every = {IsaLevel::kScalar, IsaLevel::kAvx512Vnni, IsaLevel::kAmxBf16, IsaLevel::kAmx};
  EXPECT_EQ(parse_isa("auto", {.built = every, .processor = every}), IsaLevel::kAmx);
  EXPECT_EQ(parse_isa("amxbf16", {.built = every, .processor = every}), IsaLevel::kAmxBf16);
  const std::vector<IsaLevel> last = {IsaLevel::kScalar, IsaLevel::kAmxBf16};
  EXPECT_EQ(parse_isa("auto", {.built = last, .processor = every}), IsaLevel::kScalar);
  EXPECT_THAT(parse_isa("auto", {.built = {IsaLevel::kAmxBf16}, .processor = every}).error().message,
              HasSubstr("amxbf16"));
}

TEST(CpuInfo, ProductsInBf16NeedTilesTheirInstructionAndTables) {
  EXPECT_EQ(bf16_tile_support_of(TileSupport::kNoState, true, true), TileSupport::kNoState);
  EXPECT_EQ(bf16_tile_support_of(TileSupport::kUsable, false, true), TileSupport::kNoBf16);
  EXPECT_EQ(bf16_tile_support_of(TileSupport::kUsable, true, false), TileSupport::kNoVbmi);
  EXPECT_EQ(bf16_tile_support_of(TileSupport::kUsable, true, true), TileSupport::kUsable);
  const std::vector<IsaLevel> without = {IsaLevel::kScalar, IsaLevel::kAvx512Vnni, IsaLevel::kAmx};
  const auto message = [&](TileSupport support) {
    return parse_isa("amxbf16", {.built = without, .processor = without, .bf16_tiles = support}).error().message;
  };
  EXPECT_EQ(message(TileSupport::kNoBf16),
            "instruction set 'amxbf16' is not supported here: the processor has no amx-bf16");
  EXPECT_THAT(message(TileSupport::kNoVbmi), HasSubstr("the processor has no avx512_vbmi"));
  EXPECT_THAT(message(TileSupport::kNoPermission), HasSubstr("the system refused this process the use of tiles"));
}

TEST(CpuInfo, TilesHaveTheBitsOfTheLevelWithoutThem) {
  for (int i = 0; i < kNumIsaLevels; ++i) {
    const auto level = static_cast<IsaLevel>(i);
    EXPECT_EQ(level_of_bits(level), level == IsaLevel::kAmx ? IsaLevel::kAvx512Vnni : level);
  }
}

TEST(CpuInfo, TheTestsBuildHasEveryLevelOfItsArchitecture) {
  const IsaLevels levels = isa_levels();
  for (const IsaLevel level : levels.processor) EXPECT_THAT(levels.built, testing::Contains(level));
}

TEST(CpuInfo, CountsAndSizesArePlausible) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(available_memory_bytes(), std::uint64_t{1} << 20);
  EXPECT_FALSE(cpu_model_name().empty());
}

/// A system of a test's own, told in files: 1000 KiB are available, and the process is in the cgroup /outer/inner.
class FakeSystem : public testing::Test {
 protected:
  FakeSystem() {
    write("proc/meminfo", "MemTotal:        4000 kB\nMemFree:          500 kB\nMemAvailable:    1000 kB\n");
    write("proc/self/cgroup", "1:cpu:/elsewhere\n0::/outer/inner\n");
    write("cgroup/outer/inner/memory.max", "max\n");
    write("cgroup/outer/inner/memory.current", "999999999\n");
  }
  ~FakeSystem() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void limit(const std::string& cgroup, const std::string& max, const std::string& current) {
    write("cgroup/" + cgroup + "/memory.max", max);
    write("cgroup/" + cgroup + "/memory.current", current);
  }
  SystemFolders folders() const {
    return {.proc = (root_ / "proc").string(), .cgroup = (root_ / "cgroup").string(), .cpu = (root_ / "cpu").string()};
  }
  std::uint64_t available() const { return available_memory_bytes(folders()); }

 private:
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FakeSystem, WithoutALimitTheSystemsAvailableMemoryCounts) { EXPECT_EQ(available(), 1000U * 1024); }

TEST_F(FakeSystem, TheTightestLimitOfTheProcessesCgroupsCounts) {
  limit("outer/inner", "700000\n", "100000\n");
  EXPECT_EQ(available(), 600000U);
  limit("outer", "900000\n", "500000\n");
  EXPECT_EQ(available(), 400000U);
  limit("", "300000\n", "0\n");
  EXPECT_EQ(available(), 300000U);
  limit("other", "5\n", "0\n");
  EXPECT_EQ(available(), 300000U);
}

TEST_F(FakeSystem, AllMemoryIsTheMachinesOrTheTightestLimitWhateverIsTaken) {
  write("proc/meminfo", "MemTotal:  2000 kB\nMemFree: 1 kB\nMemAvailable:  1000 kB\n");
  EXPECT_EQ(total_memory_bytes(folders()), 2000U * 1024);
  limit("outer", "900000\n", "899999\n");
  EXPECT_EQ(total_memory_bytes(folders()), 900000U);
  write("proc/self/cgroup", "3:memory:/job\n");
  write("cgroup/memory/job/memory.limit_in_bytes", "800000\n");
  EXPECT_EQ(total_memory_bytes(folders()), 800000U);
}

TEST_F(FakeSystem, ALimitThatIsLooserThanTheMachineChangesNothing) {
  limit("outer", "1000000000000\n", "5\n");
  EXPECT_EQ(available(), 1000U * 1024);
}

TEST_F(FakeSystem, ACgroupThatIsFullHasNothingLeft) {
  limit("outer/inner", "700000\n", "700001\n");
  EXPECT_EQ(available(), 0U);
}

TEST_F(FakeSystem, PagesOfFilesThatCanBeDroppedCountAsFree) {
  limit("outer/inner", "700000\n", "650000\n");
  write("cgroup/outer/inner/memory.stat", "anon 50000\nactive_file 7\ninactive_file 500000\nslab 3\n");
  EXPECT_EQ(available(), 550000U);
  write("cgroup/outer/inner/memory.stat", "inactive_file 650001\n");
  EXPECT_EQ(available(), 700000U);
}

TEST_F(FakeSystem, AFolderWithHalfItsFilesOrNoneSaysNothing) {
  write("cgroup/outer/memory.max", "5\n");
  EXPECT_EQ(available(), 1000U * 1024);
  write("cgroup/outer/memory.current", "no number\n");
  EXPECT_EQ(available(), 1000U * 1024);
}

TEST_F(FakeSystem, LimitsOfVersion1AreSeenTooWhereItIsMounted) {
  write("proc/self/cgroup", "9:cpu,cpuacct:/job\n4:cpuset:/\n3:memory:/job/inner\n");
  write("cgroup/memory/job/inner/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroup/memory/job/inner/memory.usage_in_bytes", "650000\n");
  EXPECT_EQ(available(), 1000U * 1024);
  write("cgroup/memory/job/memory.limit_in_bytes", "700000\n");
  write("cgroup/memory/job/memory.usage_in_bytes", "650000\n");
  write("cgroup/memory/job/memory.stat", "inactive_file 9\ntotal_inactive_file 50000\n");
  EXPECT_EQ(available(), 100000U);
  // In a container its own group is the root, and the host's path is not there.
  write("cgroup/memory/memory.limit_in_bytes", "30000\n");
  write("cgroup/memory/memory.usage_in_bytes", "10000\n");
  EXPECT_EQ(available(), 20000U);

  const int all = usable_cpus(folders());
  write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  write("cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(usable_cpus(folders()), all);
  write("cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(usable_cpus(folders()), 1);
}

TEST_F(FakeSystem, ACpuQuotaBoundsTheThreads) {
  const int all = usable_cpus(folders());
  write("cgroup/outer/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cpus(folders()), 1);
  write("cgroup/outer/cpu.max", "max 100000\n");
  EXPECT_EQ(usable_cpus(folders()), all);
  write("cgroup/outer/cpu.max", "no number\n");
  EXPECT_EQ(usable_cpus(folders()), all);
}

TEST_F(FakeSystem, AQuotaIsRoundedDownToWholeCpusBecauseThreadsOfAStepWaitForEachOther) {
  if (usable_cpus(folders()) < 2) GTEST_SKIP() << "one CPU cannot be bounded";
  write("cgroup/outer/cpu.max", "199999 100000\n");
  EXPECT_EQ(usable_cpus(folders()), 1);
  EXPECT_EQ(default_threads(folders()), 1);
  write("cgroup/outer/cpu.max", "200000 100000\n");
  EXPECT_EQ(usable_cpus(folders()), 2);
  write("cgroup/outer/inner/cpu.max", "350000 100000\n");
  EXPECT_EQ(usable_cpus(folders()), 2) << "the tightest counts";
  write("cgroup/outer/inner/cpu.max", "120000 100000\n");
  EXPECT_EQ(usable_cpus(folders()), 1);
}

TEST_F(FakeSystem, CoresAreCountedAndNotTheirThreads) {
  // Four cores of two threads; 0 and 4, 1 and 5, and so on, belong together.
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string pair = std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4) + "\n";
    write("cpu/cpu" + std::to_string(cpu) + "/topology/" + (cpu < 6 ? "core_cpus_list" : "thread_siblings_list"), pair);
  }
  const auto cores = [&](std::vector<int> cpus) { return count_cores(cpus, folders()); };
  EXPECT_EQ(cores({0, 1, 2, 3, 4, 5, 6, 7}), 4);
  EXPECT_EQ(cores({0, 4}), 1) << "the affinity mask has one core alone";
  EXPECT_EQ(cores({0, 1, 5}), 2);
  EXPECT_EQ(cores({8, 9}), 2) << "nothing is known of these";
}

TEST_F(FakeSystem, ThereIsOneThreadForEachCoreByDefault) {
  const int cpus = usable_cpus(folders());
  EXPECT_EQ(default_threads(folders()), cpus) << "without a word on cores each CPU is one";
  for (int cpu = 0; cpu < 1024; ++cpu) write("cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list", "0-1023\n");
  EXPECT_EQ(default_threads(folders()), 1);
  EXPECT_EQ(usable_cpus(folders()), cpus);
}

}  // namespace
}  // namespace octavo
