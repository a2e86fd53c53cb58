// A short convolution of one layer against a plain computation: whatever the chunks and the company, with its state
// written before or not.
#include "cpu/short_conv_mixer.h"

#include <gtest/gtest.h>

#include "cpu/recurrent_mixer.h"

namespace octavo::test {
namespace {

TEST(ShortConvMixer, IsAsItsSpecSaysInAnyChunk) {
  for (const IsaLevel level : supported_isa_levels())
    for (const std::uint32_t taps : {2U, 4U, 8U})
      expect_as_its_spec_says<ShortConvMixer>({.arch = "lfm2", .taps = taps}, level);
}

TEST(ShortConvMixer, StatesBehindAPartOfDraftedRowsAreAsIfNoOtherHadBeen) {
  for (const IsaLevel level : supported_isa_levels())
    for (const std::uint32_t taps : {2U, 4U, 8U})
      expect_states_behind_drafted_rows<ShortConvMixer>({.arch = "lfm2", .taps = taps}, level);
}

TEST(ShortConvMixer, SequencesSideBySideAreAsAlone) {
  expect_sequences_side_by_side_as_alone<ShortConvMixer>({.arch = "lfm2"});
}

TEST(ShortConvMixer, AStateThatIsWrittenBeforehandGivesTheSameBits) {
  expect_bits_of_a_state_written_beforehand<ShortConvMixer>({.arch = "lfm2"});
}

TEST(ShortConvMixer, KnowsWhatItReads) {
  const WeightMatrix floats{.type = DType::kBF16},
      quantized{.type = DType::kQ8_0, .activations = ActivationForm::kInt8Blocks};
  ShortConvWeights w{.in_gate = floats, .out_gate = floats, .value = floats, .output = quantized};
  EXPECT_FALSE(ShortConvMixer::forms(w).any());
  for (WeightMatrix* matrix : {&w.in_gate, &w.out_gate, &w.value}) {
    *matrix = quantized;
    EXPECT_TRUE(ShortConvMixer::forms(w).int8);
    *matrix = floats;
  }
}

}  // namespace
}  // namespace octavo::test
