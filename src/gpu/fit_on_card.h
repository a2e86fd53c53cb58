// Which part of a model the first card has room for, told before anything is loaded.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/placement.h"
#include "model/weight_list.h"
#include "octavo/kv/types.h"

namespace octavo::gpu {

/// A card, and what it can hold beside the keys and values of one sequence as long as the context.
struct CardFit {
  std::string name;
  std::uint64_t total_bytes = 0, free_bytes = 0;
  Placement placement;
};

struct FitOptions {
  KvType kv_type = kDefaultKvType;
  int block_size = 16;
  int context = 0;      // tokens
  int max_rows = 512;   // the most rows of a step
  int gpu_layers = -1;  // EngineOptions::gpu_layers
};

/// Errors: there is no card, or the context has no room.
Result<CardFit> fit_on_card(const ModelConfig& config, const WeightList& weights, const FitOptions& options);

}  // namespace octavo::gpu
