// Which layers of a model the card computes: as many of the first ones as it has kernels and memory for.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cuda_device.h"
#include "gpu/weight_shapes.h"
#include "kv/state_layout.h"
#include "model/config.h"

namespace octavo::gpu {

struct Placement {
  int num_layers = 0;              // the first ones; 0: the card computes nothing
  bool output = false;             // and the output matrix
  std::uint64_t weight_bytes = 0;  // of both
  std::uint64_t bytes = 0;         // of these, of keys and values, and of the rows of a step
  std::string reason;              // why it is not more; empty: it is all that was asked for
};

/// Bytes of the card that a model may take: all that is free but for a reserve of the driver's and of other programs'.
std::uint64_t room_on(const CudaDevice& device);

/// A model whose layers are to be placed.
struct PlacementRequest {
  const ModelConfig& config;
  const WeightShapes& weights;
  const StateRoom& room;
  int max_rows = 0;    // of a step
  int gpu_layers = 0;  // EngineOptions::gpu_layers
};
/// The largest placement that fits `room` bytes, up to what is asked for.
Placement place_layers(const PlacementRequest& request, std::uint64_t room);

/// The widest rows that products of the layers read, but for those of the experts that rows choose.
std::int64_t widest_columns(const ModelConfig& config);

}  // namespace octavo::gpu
