// The recurrence of one layer against a plain computation: whatever the chunks and the company, with its state written
// before or not.
#include "cpu/delta_mixer.h"

#include <gtest/gtest.h>

#include "cpu/recurrent_mixer.h"

namespace octavo::test {
namespace {

TEST(DeltaMixer, IsAsItsSpecSaysInAnyChunk) {
  for (const IsaLevel level : supported_isa_levels())
    for (const std::uint32_t taps : {2U, 4U, 8U})
      expect_as_its_spec_says<DeltaMixer>({.arch = "qwen35", .taps = taps}, level);
}

TEST(DeltaMixer, StatesBehindAPartOfDraftedRowsAreAsIfNoOtherHadBeen) {
  for (const IsaLevel level : supported_isa_levels())
    for (const std::uint32_t taps : {2U, 4U, 8U})
      expect_states_behind_drafted_rows<DeltaMixer>({.arch = "qwen35", .taps = taps}, level);
}

TEST(DeltaMixer, SequencesSideBySideAreAsAlone) {
  expect_sequences_side_by_side_as_alone<DeltaMixer>({.arch = "qwen35"});
}

TEST(DeltaMixer, AStateThatIsWrittenBeforehandGivesTheSameBits) {
  expect_bits_of_a_state_written_beforehand<DeltaMixer>({.arch = "qwen35"});
}

TEST(DeltaMixer, KnowsWhatItReads) {
  const WeightMatrix floats{.type = DType::kBF16},
      quantized{.type = DType::kQ8_0, .activations = ActivationForm::kInt8Blocks};
  DeltaWeights w{.qkv = floats, .gate = floats, .decay = floats, .beta = floats, .output = quantized};
  EXPECT_FALSE(DeltaMixer::forms(w).any());
  for (WeightMatrix* matrix : {&w.qkv, &w.gate, &w.decay, &w.beta}) {
    *matrix = quantized;
    EXPECT_TRUE(DeltaMixer::forms(w).int8);
    *matrix = floats;
  }
}

}  // namespace
}  // namespace octavo::test
