#include "cpu/cpu_runner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "base/page_memory.h"
#include "kernels/dispatch.h"
#include "kernels/packed_layout.h"
#include "kv/kv_budget.h"
#include "model/model_state.h"
#include "model/model_work.h"
#include "model/weight_need.h"

namespace octavo {
namespace {

Result<void> check_options(const EngineOptions& options, const ModelSource& source, const ModelConfig& config) {
  OCTAVO_CHECK(options.max_step_tokens >= 1 && options.max_sequences >= 1, "{} rows, {} sequences",
               options.max_step_tokens, options.max_sequences);
  if (options.block_size < 1 || options.block_size > kMaxBlockSize ||
      !std::has_single_bit(static_cast<unsigned>(options.block_size)))
    return fail("block_size is {}, expected a power of two from 1 to {}", options.block_size, kMaxBlockSize);
  if (options.max_context < 0 || options.max_context > config.context_length)
    return fail("max_context is {}, expected 1 to {}, what the model was trained for (0: that)", options.max_context,
                config.context_length);
  for (const LayerSpec& layer : config.layers) {
    const std::optional<KvLayerShape> shape = layer.kv_shape();
    if (shape && std::max(shape->k_dim, shape->v_dim) > kMaxHeadDim)
      return fail("{}: heads of {} dimensions are not supported, the most is {}", source.name(),
                  std::max(shape->k_dim, shape->v_dim), kMaxHeadDim);
  }
  return {};
}

/// Checks that rows are whole blocks of 32, as int8 activations need.
Result<void> check_widths(const ModelSource& source, const WeightList& list) {
  for (const ListedMatrix& m : list.matrices)
    if (m.is_quantized() && m.cols % kActBlock != 0)
      return fail("{}: tensor {} has rows of {} weights, which do not divide into blocks of {}", source.name(),
                  m.source->name, m.cols, kActBlock);
  return {};
}

Result<StateRoom> make_state_room(const ModelConfig& config, const EngineOptions& options, int context,
                                  std::uint64_t budget) {
  const std::int64_t max_tokens = options.kv_layout == KvLayout::kContiguous
                                      ? context
                                      : (std::int64_t{context} + options.block_size) * options.max_sequences;
  OCTAVO_TRY(StateLayout layout, state_layout(config, options.kv_type, options.kv_layout, options.block_size));
  return make_room(std::move(layout), {.bytes = budget,
                                       .max_tokens = max_tokens,
                                       .longest_sequence = context,
                                       .max_sequences = options.max_sequences,
                                       .required_sequence = options.max_context,
                                       .checkpoints = options.prefix_cache,
                                       .joint_rows = config.joint_rows});
}

Result<AssistantModel> load_assistant(AssistantRequest& assistant, const KernelTable& kernels,
                                      const RunnerRequest& request) {
  const EngineOptions& options = request.options;
  OCTAVO_TRY_VOID(check_widths(assistant.source, assistant.weights));
  OCTAVO_TRY(
      Weights weights,
      Weights::load(assistant.source, assistant.weights, kernels, request.pool, {},
                    {.repack = options.repack, .beside_others = request.kv_budget.taken() > 0, .stop = options.stop}));
  return AssistantModel{.config = std::move(assistant.config), .weights = std::move(weights)};
}

/// Takes KV memory. Where neither the engine nor the budget names an amount: half of what is free, once what other
/// engines have taken counts as used.
Result<MemoryBudget::Lease> lease_of(MemoryBudget& budget, std::uint64_t wanted, std::uint64_t mapped_bytes) {
  if (wanted != 0) return budget.take(wanted);
  if (budget.total() != 0) return budget.take_rest();
  const std::uint64_t available = available_memory_bytes();
  const std::uint64_t left = available - std::min(available, budget.taken());
  return budget.take(PageMemory::allowed_bytes(default_kv_memory(left, mapped_bytes)));
}

}  // namespace

Result<std::unique_ptr<CpuRunner>> CpuRunner::load(RunnerRequest request, const MakeStage& make_stage) {
  OCTAVO_TRY_VOID(check_options(request.options, request.source, request.config));
  OCTAVO_TRY_VOID(check_widths(request.source, request.weights));
  std::unique_ptr<CpuRunner> runner(new CpuRunner(std::move(request.config)));
  if (make_stage) OCTAVO_TRY_VOID(runner->take_kv_memory(request));
  OCTAVO_TRY_VOID(runner->load_weights(request, make_stage));
  if (!make_stage) OCTAVO_TRY_VOID(runner->take_kv_memory(request));
  runner->finish_info(request);
  OCTAVO_TRY_VOID(runner->make_stages(request));
  return runner;
}

Result<void> CpuRunner::take_kv_memory(const RunnerRequest& request) {
  const EngineOptions& options = request.options;
  const int wanted_context = options.max_context != 0 ? options.max_context : config_.context_length;
  OCTAVO_TRY(kv_lease_, lease_of(request.kv_budget, options.kv_memory_bytes, mapped_bytes()));
  info_.kv_memory_bytes = kv_lease_.bytes();
  OCTAVO_TRY(info_.room, make_state_room(config_, options, wanted_context, info_.kv_memory_bytes));
  const std::int64_t fitting = info_.room.longest_sequence();
  if (options.max_context > fitting)
    return fail("max_context is {} tokens, but a KV memory of {} bytes holds {}", options.max_context,
                info_.kv_memory_bytes, fitting);
  if (options.kv_layout == KvLayout::kPaged) kv_lease_.shrink(info_.room.bytes());  // the other layout may grow to it
  info_.max_context = static_cast<int>(std::min<std::int64_t>(wanted_context, fitting));
  info_.max_rows = config_.is_encoder ? std::max(options.max_step_tokens, wanted_context) : options.max_step_tokens;
  return {};
}

Result<void> CpuRunner::load_weights(RunnerRequest& request, const MakeStage& make_stage) {
  const EngineOptions& options = request.options;
  const KernelTable& kernels = kernel_table(request.isa, options.bits);
  std::unique_ptr<StageLoad> stage;
  if (make_stage) {
    OCTAVO_TRY(stage, make_stage({.config = config_,
                                  .weights = request.weights,
                                  .room = info_.room,
                                  .options = options,
                                  .pool = request.pool,
                                  .max_rows = info_.max_rows}));
  }
  const auto load = [&] {
    return Weights::load(
        request.source, request.weights, kernels, request.pool,
        [&](std::uint64_t done, std::uint64_t total) {
          if (options.on_load_progress) options.on_load_progress({done, total});
        },
        {.repack = options.repack,
         .beside_others = request.kv_budget.taken() > kv_lease_.bytes(),
         .stop = options.stop},
        stage.get());
  };
  Result<Weights> weights = load();
  if (!weights && stage != nullptr && stage->has_failed() && options.device == Device::kAuto) {
    stage.reset();
    weights = load();
  }
  if (!weights) return std::unexpected(std::move(weights.error()));
  weights_ = std::move(*weights);
  if (stage != nullptr) device_ = stage->finish();
  if (request.assistant) {
    OCTAVO_TRY(assistant_, load_assistant(*request.assistant, kernels, request));
  }
  return {};
}

void CpuRunner::finish_info(const RunnerRequest& request) {
  const WeightNeed need = weight_need(request.weights);
  info_.vocab_size = config_.vocab_size;
  info_.has_draft_head = config_.has_draft_head || assistant_;
  info_.has_assistant = assistant_.has_value();
  info_.width = config_.width;
  info_.head_pooling = config_.head.pooling;
  info_.num_token_types = config_.num_token_types;
  info_.joint_rows = config_.joint_rows;
  info_.is_encoder = config_.is_encoder;
  info_.weight_bytes = need.bytes(request.options.repack) + (assistant_ ? assistant_->weights.total_bytes() : 0);
  info_.mapped_weight_bytes = mapped_bytes();
  info_.weight_bytes_per_token = weight_bytes_per_token(request.weights, request.options.repack);
  info_.content_hash = weights_.content_hash();
  if (device_ == nullptr) return;
  info_.device = device_->description();
  info_.device_has_all = device_->has_output();
}

Result<void> CpuRunner::make_stages(const RunnerRequest& request) {
  transformer_ = std::make_unique<Transformer>(config_, weights_, kernel_table(request.isa, request.options.bits),
                                               Math(request.options.bits), request.pool, info_.max_rows);
  LayerRange behind;
  if (device_ != nullptr) {
    const LayerRange there = device_->layers();
    if (there.first > 0) OCTAVO_TRY_VOID(transformer_->add_layers({.first = 0, .end = there.first}, info_.room));
    transformer_->add_stage(*device_);
    behind.first = there.end;
  }
  OCTAVO_TRY_VOID(transformer_->add_layers(behind, info_.room));
  if (assistant_) transformer_->add_assistant(*assistant_);
  if (config_.joint_rows > 0) transformer_->add_joint_pass();
  return {};
}

std::uint64_t CpuRunner::mapped_bytes() const {
  return weights_.mapped_bytes() + (assistant_ ? assistant_->weights.mapped_bytes() : 0);
}

BatchOutcome CpuRunner::wait() {
  const Batch* batch = std::exchange(batch_, nullptr);
  const GuessBatch* guesses = std::exchange(guess_batch_, nullptr);
  OCTAVO_CHECK(batch != nullptr, "no batch was begun");
  BatchOutcome outcome;
  compute(*batch, guesses, outcome);
  outcome.grown_bytes = transformer_->grown_bytes();
  if (!outcome.is_refused && guesses != nullptr) {
    outcome.guesses = guesses_;
  } else if (!outcome.is_refused && (batch->num_rows() > 0 || batch->ends_joint_pass)) {
    const StageFindings found = transformer_->findings();
    outcome.waited = transformer_->waited();
    outcome.expert_bytes = found.expert_bytes;
    outcome.not_finite = found.not_finite;
    outcome.spoiled = found.spoiled;
  }
  return outcome;
}

void CpuRunner::compute(const Batch& batch, const GuessBatch* guesses, BatchOutcome& outcome) try {
  outcome.is_refused = !compute_rows(batch, guesses);
} catch (const ThreadPool::Unwanted&) {
  outcome.is_refused = outcome.is_left = true;
} catch (const std::bad_alloc&) {
  outcome.is_refused = true;
} catch (const DeviceError& error) {
  fault_ = error.what();
  outcome.is_refused = true;
}

/// Computes a batch, or guesses. False: there is no memory.
bool CpuRunner::compute_rows(const Batch& batch, const GuessBatch* guesses) {
  if (!fault_.empty()) return false;
  OCTAVO_CHECK(batch.num_rows() <= info_.max_rows, "{} rows, room for {}", batch.num_rows(), info_.max_rows);
  transformer_->advance_states(batch.advances);
  transformer_->release(batch.releases);
  if (batch.ends_joint_pass) transformer_->end_joint_pass(batch);
  if (batch.num_rows() == 0) return true;
  if (!transformer_->grow(batch)) return false;
  transformer_->copy_blocks(batch.copies);
  if (guesses == nullptr) {
    transformer_->forward(batch);
  } else {
    guesses_ = transformer_->guess(*guesses);
  }
  return true;
}

bool CpuRunner::begin_joint_pass(const Batch& batch) try {
  return transformer_->begin_joint_pass(batch);
} catch (const std::bad_alloc&) {
  return false;
}

// Where the device fails, all logits are NaN, which ends the requests that wait for them.
std::span<const float> CpuRunner::logits(int first, int count) try {
  return transformer_->logits(first, count);
} catch (const DeviceError& error) {
  fault_ = error.what();
  no_logits_.assign(to_size(count) * to_size(info_.vocab_size), std::numeric_limits<float>::quiet_NaN());
  return no_logits_;
}

std::span<const float> CpuRunner::hidden_rows(int first, int count) { return transformer_->hidden_rows(first, count); }

std::span<const float> CpuRunner::apply_head(std::span<const float> pooled, bool ranks) {
  return ranks ? transformer_->scores_of(pooled) : transformer_->vector_of(pooled);
}

}  // namespace octavo
