// The time of an engine's steps, part by part (EngineOptions::profile, `octavo bench --profile`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace octavo {

/// The parts of a step, in the order in which it comes to them.
enum class StepPart : std::uint8_t {
  kScheduling,      // who advances, and the batch of it
  kEmbedding,       // rows of the embedding matrix
  kRows,            // norms, sums of the residual stream, quantizing rows to int8
  kMixerInput,      // products that make queries, keys, values, or what a recurrent layer reads
  kPositions,       // biases, norms and rotations of heads; keys and values written
  kAttention,       // scores and sums of values
  kRecurrence,      // convolutions and states of recurrent layers
  kMixerOutput,     // the product behind attention or recurrence
  kRouting,         // the router's product, the choice of experts, gathering their rows
  kGateUp,          // products gate and up with the activation, of experts too
  kDown,            // the product back to the stream's width, of experts too
  kLayerEmbedding,  // what a layer makes of its own embedding of a token
  kLogits,          // the output matrix
  kOtherDevice,     // layers, and the output matrix, on another device
  kSampling,        // drawing tokens, and accepting them
  kTokens,          // texts, stops, masks, callbacks
  kBetween,         // from one step to the next
};
inline constexpr std::size_t kNumStepParts = std::to_underlying(StepPart::kBetween) + 1;

struct StepPartTime {
  double seconds = 0;          // of the clock
  double working_seconds = 0;  // in which threads worked: their time added up, over their number
};

struct StepProfile {
  std::array<StepPartTime, kNumStepParts> parts = {};

  const StepPartTime& operator[](StepPart part) const { return parts[std::to_underlying(part)]; }
};

}  // namespace octavo
