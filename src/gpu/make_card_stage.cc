#include "gpu/make_card_stage.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gpu/card_stage.h"
#include "gpu/placement.h"
#include "model/weight_need.h"

namespace octavo::gpu {
namespace {

/// The KV memory for a card: what it has beside the weights, but at least a quarter of its free memory, as a card that
/// is too small for all weights gets only the first layers.
std::uint64_t kv_memory_on(const CudaDevice& device, const WeightList& list) {
  constexpr std::uint64_t kBesides = std::uint64_t{1} << 30;  // the rows of steps, and what place_layers() leaves free
  const std::uint64_t taken = weight_need(list).packed_bytes + kBesides, free = device.info().free_bytes;
  return std::max(free > taken ? free - taken : 0, free / 4);
}

/// Makes the stage, with fewer layers where the card does not give the memory that it had free.
Result<std::unique_ptr<StageLoad>> make_stage(const std::shared_ptr<CudaDevice>& device, const StageParts& parts,
                                              const SumOrder& order, Device wanted) {
  const WeightShapes shapes = shapes_of(parts.weights);
  std::string refusal;  // why more layers were refused
  std::uint64_t room = room_on(*device);
  while (true) {
    const Placement placement = place_layers({.config = parts.config,
                                              .weights = shapes,
                                              .room = parts.room,
                                              .max_rows = parts.max_rows,
                                              .gpu_layers = parts.options.gpu_layers},
                                             room);
    if (placement.num_layers == 0) {
      if (wanted == Device::kAuto) return nullptr;
      if (!refusal.empty()) return fail("device: found cuda, but {}", refusal);
      return fail("device: found cuda, but {} computes no layer of this model: {}", device->info().name,
                  placement.reason);
    }
    Result<std::unique_ptr<CardStage>> stage =
        CardStage::create(device, parts, shapes, order, {.first = 0, .end = placement.num_layers}, placement.output);
    if (stage) return CardStage::load(std::move(*stage), parts);
    refusal = std::move(stage.error().message);
    room = placement.bytes / 8 * 7;
  }
}

}  // namespace

Result<MakeStage> card_stage_for(RunnerRequest& request) {
  const Device wanted = request.options.device;
  if (wanted == Device::kCpu || request.options.gpu_layers == 0) return MakeStage();
  if (wanted == Device::kAuto && request.assistant) return MakeStage();
  if (request.assistant) return fail("device: found cuda, expected cpu: an assistant reads keys and values in memory");
  if (!request.options.repack && wanted == Device::kAuto) return MakeStage();
  if (!request.options.repack) return fail("device: found cuda, expected cpu: weights stay in the file (--no-repack)");
  const Result<SumOrder> order = sum_order_of(request.isa, request.options.bits);
  if (!order && wanted == Device::kAuto) return MakeStage();
  if (!order) return fail("device: found cuda, but {}", order.error().message);
  Result<std::unique_ptr<CudaDevice>> opened = CudaDevice::open();
  if (!opened && wanted == Device::kAuto) return MakeStage();
  if (!opened) return fail("device: found cuda, but {}", opened.error().message);
  if (request.options.kv_memory_bytes == 0 && request.kv_budget.total() == 0)
    request.options.kv_memory_bytes = kv_memory_on(**opened, request.weights);
  return [device = std::shared_ptr(std::move(*opened)), order = *order, wanted](const StageParts& parts) {
    return make_stage(device, parts, order, wanted);
  };
}

}  // namespace octavo::gpu
