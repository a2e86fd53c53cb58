// The base of kernel tests: every test runs on every instruction-set level that the processor has or can emulate
// (emulated_isa/), and names the levels that it could not run.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "emulated_isa/level_kernels.h"
#include "kernels/pack.h"

namespace octavo {

/// Levels compiled for this architecture; unsupported ones are reported as skipped by the tests themselves.
inline std::vector<IsaLevel> compiled_levels() {
#if defined(__x86_64__)
  return {IsaLevel::kScalar,     IsaLevel::kAvx2,    IsaLevel::kAvxVnni,
          IsaLevel::kAvx512Vnni, IsaLevel::kAmxBf16, IsaLevel::kAmx};
#elif defined(__aarch64__)
  return {IsaLevel::kScalar, IsaLevel::kNeon};
#else
  return {IsaLevel::kScalar};
#endif
}

/// A test case per level. Kernels are reached through kernels().
class KernelTest : public ::testing::TestWithParam<IsaLevel> {
 protected:
  void SetUp() override {
    if (kernels_of_level(GetParam()) == nullptr)
      GTEST_SKIP() << isa_name(GetParam()) << ": not run, the processor lacks it";
  }
  const KernelTable& kernels() const { return *kernels_of_level(GetParam()); }
  std::mt19937 random{12345};

  std::vector<float> normal(std::size_t n, float deviation = 1.0F) {
    std::normal_distribution<float> distribution(0.0F, deviation);
    std::vector<float> values(n);
    for (float& value : values) value = distribution(random);
    return values;
  }
};

inline std::string level_name(const ::testing::TestParamInfo<IsaLevel>& info) {
  return std::string(isa_name(info.param));
}

#define OCTAVO_FOR_EACH_LEVEL(Suite) \
  INSTANTIATE_TEST_SUITE_P(Levels, Suite, ::testing::ValuesIn(compiled_levels()), level_name)

}  // namespace octavo
