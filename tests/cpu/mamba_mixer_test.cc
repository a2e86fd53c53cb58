// Mamba-2 as a mixer: its results as the formula says, one state for every chunking, sequences side by side, and
// drafted rows of which a part is right.
#include "cpu/mamba_mixer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cpu/recurrent_mixer.h"

namespace octavo::test {
namespace {

TEST(MambaMixer, IsAsItsSpecSaysInAnyChunk) {
  for (const IsaLevel level : supported_isa_levels()) {
    for (const std::uint32_t taps : {2U, 4U, 8U})
      expect_as_its_spec_says<MambaMixer>({.arch = "granitehybrid", .taps = taps}, level);
    // Heads of more than a piece, several of them in a group; then one group, and no bias of the convolution.
    expect_as_its_spec_says<MambaMixer>(
        {.arch = "granitehybrid", .key_heads = 2, .value_heads = 6, .key_dim = 16, .value_dim = 80}, level);
    expect_as_its_spec_says<MambaMixer>(
        {.arch = "granitehybrid", .key_heads = 1, .key_dim = 5, .without = {"blk.0.ssm_conv1d.bias"}}, level);
  }
}

TEST(MambaMixer, StatesBehindAPartOfDraftedRowsAreAsIfNoOtherHadBeen) {
  for (const IsaLevel level : supported_isa_levels())
    for (const std::uint32_t taps : {2U, 4U, 8U})
      expect_states_behind_drafted_rows<MambaMixer>({.arch = "granitehybrid", .taps = taps}, level);
}

TEST(MambaMixer, SequencesSideBySideAreAsAlone) {
  expect_sequences_side_by_side_as_alone<MambaMixer>({.arch = "granitehybrid"});
}

TEST(MambaMixer, AStateThatIsWrittenBeforehandGivesTheSameBits) {
  expect_bits_of_a_state_written_beforehand<MambaMixer>({.arch = "granitehybrid"});
}

TEST(MambaMixer, KnowsWhatItReads) {
  const WeightMatrix floats{.type = DType::kBF16},
      quantized{.type = DType::kQ8_0, .activations = ActivationForm::kInt8Blocks};
  MambaWeights w{.gate = floats, .input = floats, .step = floats, .output = quantized};
  EXPECT_FALSE(MambaMixer::forms(w).any());
  for (WeightMatrix* matrix : {&w.gate, &w.input, &w.step}) {
    *matrix = quantized;
    EXPECT_TRUE(MambaMixer::forms(w).int8);
    *matrix = floats;
  }
}

TEST(Softplus, IsTheIdentityFromTwentyOnAndItsTailBelow) {
  for (const double x : {20.0, 20.5, 25.0, 29.999, 30.001, 700.0})
    EXPECT_EQ(static_cast<float>(softplus(x)), static_cast<float>(x)) << x;
  for (const double x : {-700.0, -40.0, -3.0, 0.0, 0.25, 5.0})
    EXPECT_NEAR(softplus(x), std::log1p(std::exp(x)), 1e-14 * (1 + std::abs(x))) << x;
}

}  // namespace
}  // namespace octavo::test
