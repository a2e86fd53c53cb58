// The loops that measure the machine do all they count, on every level the processor has.
#include "kernels/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "kernels/dispatch.h"
#include "octavo/machine.h"

namespace octavo {
namespace {

using testing::HasSubstr;

TEST(Machine, ReadingSeesEveryByte) {
  for (const IsaLevel level : supported_isa_levels()) {
    std::vector<std::uint8_t> memory(64 * 7);
    for (const std::size_t ahead : {0, 256}) {
      for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = 1;
        EXPECT_NE(kernel_table(level).probe_read(memory.data(), memory.size(), ahead), 0U)
            << isa_name(level) << " " << i;
        memory[i] = 0;
      }
      EXPECT_EQ(kernel_table(level).probe_read(memory.data(), memory.size(), ahead), 0U);
    }
  }
}

TEST(Machine, TheProbesDoTheMultiplyAddsThatTheyCount) {
  std::array<std::int8_t, 16> ones;
  ones.fill(1);
  for (const IsaLevel level : supported_isa_levels()) {
    // Every product of bytes is 1, so each chain of lanes grows by a quarter of its multiply-adds a lane. The exclusive
    // or of an even number of equal chains is 0; of sums that differ it is not.
    std::array<std::int8_t, 16> first_differs = ones;
    first_differs[0] = 2;
    std::int32_t equal = -1, different = 0;
    EXPECT_GT(kernel_table(level).probe_int8(3, ones.data(), &equal), 0) << isa_name(level);
    EXPECT_EQ(equal, 0) << isa_name(level);
    kernel_table(level).probe_int8(3, first_differs.data(), &different);
    EXPECT_NE(different, 0) << isa_name(level);
    // x / 128 + 1 from x = 1 is 1 + 1 / 128 after one round.
    float sum = 0;
    const std::int64_t count = kernel_table(level).probe_float(1, ones.data(), &sum);
    EXPECT_FLOAT_EQ(sum, static_cast<float>(count) * (1 + 1.0F / 128)) << isa_name(level);
  }
}

TEST(Machine, LimitsArePositiveAndNameWhatWasMeasured) {
  const Result<MachineLimits> limits = measure_machine(3, "scalar");
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->num_threads, 3);
  EXPECT_EQ(limits->isa, "scalar");
  EXPECT_FALSE(limits->cpu.empty());
  EXPECT_GT(limits->read_bytes_per_s, 0);
  EXPECT_GT(limits->int8_ops_per_s, 0);
  EXPECT_GT(limits->float_ops_per_s, 0);
}

TEST(Machine, WrongRequestsAreErrors) {
  EXPECT_THAT(measure_machine(-1, "auto").error().message, HasSubstr("num_threads: found -1"));
  EXPECT_THAT(measure_machine(1, "sse9").error().message, HasSubstr("sse9"));
}

}  // namespace
}  // namespace octavo
