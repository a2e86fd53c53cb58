// The time of an engine's steps, by parts (EngineOptions::profile, `octavo bench --profile`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace octavo {

/// The parts of a step, in the order in which it runs them.
enum class StepPart : std::uint8_t {
  kScheduling,      // choosing who advances, and making the batch
  kEmbedding,       // rows of the embedding matrix
  kRows,            // norms, sums of the residual stream, quantizing rows to int8
  kMixerInput,      // products that make queries, keys, values, or what a recurrent layer reads
  kPositions,       // biases, norms and rotations of heads; keys and values written
  kAttention,       // scores and sums of values
  kRecurrence,      // convolutions and states of recurrent layers
  kMixerOutput,     // the product after attention or recurrence
  kRouting,         // the router's product, the choice of experts, gathering their rows
  kGateUp,          // the products gate and up with the activation, also those of experts
  kDown,            // the product back to the stream's width, also that of experts
  kLayerEmbedding,  // what a layer makes of its own embedding of a token
  kLogits,          // the output matrix
  kOtherDevice,     // layers, and the output matrix, on another device
  kSampling,        // drawing and accepting tokens
  kTokens,          // texts, stops, masks, callbacks
  kBetween,         // the time from one step to the next
};
inline constexpr std::size_t kNumStepParts = std::to_underlying(StepPart::kBetween) + 1;

struct StepPartTime {
  double seconds = 0;          // elapsed time
  double working_seconds = 0;  // the time in which threads worked: the sum over threads, divided by their number
};

struct StepProfile {
  std::array<StepPartTime, kNumStepParts> parts = {};

  const StepPartTime& operator[](StepPart part) const { return parts[std::to_underlying(part)]; }
};

}  // namespace octavo
