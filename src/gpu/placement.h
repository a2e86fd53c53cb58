// The choice of the layers that the card computes: as many of the first ones as it has kernels and memory for.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cuda_device.h"
#include "gpu/weight_shapes.h"
#include "kv/state_layout.h"
#include "model/config.h"

namespace octavo::gpu {

struct Placement {
  int num_layers = 0;              // how many, from the first layer on; 0: none
  bool output = false;             // the output matrix is on the card, too
  std::uint64_t weight_bytes = 0;  // of the layers and the output matrix
  std::uint64_t bytes = 0;         // all bytes: weights, keys and values, and the rows of a step
  std::string reason;              // why it is not more; empty: it is all that was asked for
};

/// The bytes that a model may take of the card: all that is free, less a reserve for the driver and other programs.
std::uint64_t room_on(const CudaDevice& device);

/// A model whose layers are to be placed.
struct PlacementRequest {
  const ModelConfig& config;
  const WeightShapes& weights;
  const StateRoom& room;
  int max_rows = 0;    // the most rows of a step
  int gpu_layers = 0;  // EngineOptions::gpu_layers
};
/// The largest placement that fits into `room` bytes, up to what is asked for.
Placement place_layers(const PlacementRequest& request, std::uint64_t room);

/// The most columns of a row that the layers' products read, apart from those of the experts that rows choose.
std::int64_t widest_columns(const ModelConfig& config);

}  // namespace octavo::gpu
