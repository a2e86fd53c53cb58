#include "gpu/fit_on_card.h"

#include <memory>
#include <utility>

#include "kv/kv_budget.h"
#include "model/model_state.h"

namespace octavo::gpu {

Result<CardFit> fit_on_card(const ModelConfig& config, const WeightList& weights, const FitOptions& options) {
  OCTAVO_TRY(const std::unique_ptr<CudaDevice> device, CudaDevice::open());
  OCTAVO_TRY(StateLayout layout, state_layout(config, options.kv_type, KvLayout::kPaged, options.block_size));
  const KvNeed need = kv_need(config, options.kv_type, options.block_size, options.context);
  OCTAVO_TRY(const StateRoom room, make_room(std::move(layout), {.bytes = need.bytes,
                                                                 .max_tokens = options.context,
                                                                 .longest_sequence = options.context,
                                                                 .max_sequences = 1,
                                                                 .num_snapshots = need.recurrent_bytes > 0 ? 1 : 0,
                                                                 .required_sequence = options.context}));
  const WeightShapes shapes = shapes_of(weights);
  const CardInfo& info = device->info();
  return CardFit{.name = info.name,
                 .total_bytes = info.total_bytes,
                 .free_bytes = info.free_bytes,
                 .placement = place_layers({.config = config,
                                            .weights = shapes,
                                            .room = room,
                                            .max_rows = options.max_rows,
                                            .gpu_layers = options.gpu_layers},
                                           room_on(*device))};
}

}  // namespace octavo::gpu
