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

namespace octavo {
namespace {

Result<void> check_options(const RunnerOptions& options, const ModelSource& source, const ModelConfig& config) {
  OCTAVO_CHECK(options.max_rows >= 1 && options.max_seqs >= 1, "{} rows, {} sequences", options.max_rows,
               options.max_seqs);
  if (options.block_size < 1 || options.block_size > kMaxBlockSize ||
      !std::has_single_bit(static_cast<unsigned>(options.block_size)))
    return fail("block_size is {}, expected a power of two from 1 to {}", options.block_size, kMaxBlockSize);
  if (options.max_context < 0 || options.max_context > config.context_length)
    return fail("max_context is {}, expected 1 to {}, what the model was trained for (0: that)", options.max_context,
                config.context_length);
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec* attention = layer.attention();
    if (attention != nullptr && attention->head_dim > kMaxHeadDim)
      return fail("{}: heads of {} dimensions are not supported, the most is {}", source.name(), attention->head_dim,
                  kMaxHeadDim);
  }
  return {};
}

/// Int8 activations work on rows that are whole blocks of 32.
Result<void> check_widths(const ModelSource& source, const WeightList& list) {
  for (const ListedMatrix& m : list.matrices)
    if (m.is_quantized() && m.cols % kActBlock != 0)
      return fail("{}: tensor {} has rows of {} weights, which do not divide into blocks of {}", source.name(),
                  m.source->name, m.cols, kActBlock);
  return {};
}

Result<StateRoom> make_state_room(const ModelConfig& config, const RunnerOptions& options, int context,
                                  std::uint64_t budget) {
  const std::int64_t max_tokens = options.kv_layout == KvLayout::kContiguous
                                      ? context
                                      : (std::int64_t{context} + options.block_size) * options.max_seqs;
  OCTAVO_TRY(StateLayout layout, state_layout(config, options.kv_type, options.kv_layout, options.block_size));
  return make_room(std::move(layout), {.bytes = budget,
                                       .max_tokens = max_tokens,
                                       .longest_sequence = context,
                                       .max_sequences = options.max_seqs,
                                       .required_sequence = options.max_context,
                                       .checkpoints = options.prefix_cache});
}

Result<AssistantModel> load_assistant(AssistantRequest& assistant, const KernelTable& kernels,
                                      const RunnerRequest& request) {
  const RunnerOptions& options = request.options;
  OCTAVO_TRY_VOID(check_widths(assistant.source, assistant.weights));
  OCTAVO_TRY(
      Weights weights,
      Weights::load(assistant.source, assistant.weights, kernels, request.pool, {},
                    {.repack = options.repack, .beside_others = request.kv_budget.taken() > 0, .stop = options.stop}));
  return AssistantModel{.config = std::move(assistant.config), .weights = std::move(weights)};
}

/// If neither the engine nor the budget names an amount: half of what is free, as if others had filled theirs.
Result<MemoryBudget::Lease> take_kv_memory(MemoryBudget& budget, std::uint64_t wanted, std::uint64_t mapped_bytes) {
  if (wanted != 0) return budget.take(wanted);
  if (budget.total() != 0) return budget.take_rest();
  const std::uint64_t available = available_memory_bytes();
  const std::uint64_t left = available - std::min(available, budget.taken());
  return budget.take(PageMemory::allowed_bytes(default_kv_memory(left, mapped_bytes)));
}

}  // namespace

Result<std::unique_ptr<CpuRunner>> CpuRunner::load(RunnerRequest request, const MakeLeadingLayers& make_leading) {
  const RunnerOptions& options = request.options;
  ModelConfig& config = request.config;
  OCTAVO_TRY_VOID(check_options(options, request.source, config));
  OCTAVO_TRY_VOID(check_widths(request.source, request.weights));
  const KernelTable& kernels = kernel_table(options.isa, options.bits);
  OCTAVO_TRY(
      Weights weights,
      Weights::load(request.source, request.weights, kernels, request.pool,
                    [&](std::uint64_t done, std::uint64_t total) {
                      if (options.on_load_progress) options.on_load_progress({done, total});
                    },
                    {.repack = options.repack, .beside_others = request.kv_budget.taken() > 0, .stop = options.stop}));

  std::optional<AssistantModel> assistant;
  if (request.assistant) {
    OCTAVO_TRY(assistant, load_assistant(*request.assistant, kernels, request));
  }
  const int wanted_context = options.max_context != 0 ? options.max_context : config.context_length;
  const int max_rows = config.is_encoder ? std::max(options.max_rows, wanted_context) : options.max_rows;
  OCTAVO_TRY(MemoryBudget::Lease lease,
             take_kv_memory(request.kv_budget, options.kv_memory_bytes,
                            weights.mapped_bytes() + (assistant ? assistant->weights.mapped_bytes() : 0)));
  const std::uint64_t kv_memory_bytes = lease.bytes();
  OCTAVO_TRY(StateRoom room, make_state_room(config, options, wanted_context, kv_memory_bytes));
  const std::int64_t fitting = room.longest_sequence();
  if (options.max_context > fitting)
    return fail("max_context is {} tokens, but a KV memory of {} bytes holds {}", options.max_context, kv_memory_bytes,
                fitting);

  OCTAVO_TRY(SnapshotArena snapshots, SnapshotArena::create(room));
  OCTAVO_TRY(KvArena kv, KvArena::create(std::move(room)));
  if (options.kv_layout == KvLayout::kPaged) lease.shrink(kv.room().bytes());  // the other grows to all of it
  RunnerInfo info{.room = kv.room(),
                  .vocab_size = config.vocab_size,
                  .has_draft_head = config.has_draft_head || assistant,
                  .has_assistant = assistant.has_value(),
                  .max_rows = max_rows,
                  .max_context = static_cast<int>(std::min<std::int64_t>(wanted_context, fitting)),
                  .width = config.width,
                  .head_pooling = config.head.pooling,
                  .num_token_types = config.num_token_types,
                  .is_encoder = config.is_encoder,
                  .weight_bytes = weights.total_bytes() + (assistant ? assistant->weights.total_bytes() : 0),
                  .mapped_weight_bytes = weights.mapped_bytes() + (assistant ? assistant->weights.mapped_bytes() : 0),
                  .weight_bytes_per_token = weights.bytes_per_token(),
                  .kv_memory_bytes = kv_memory_bytes,
                  .content_hash = weights.content_hash()};
  std::unique_ptr<CpuRunner> runner(
      new CpuRunner(std::move(config), std::move(weights), std::move(kv), std::move(snapshots)));
  runner->kv_lease_ = std::move(lease);
  runner->info_ = std::move(info);
  runner->assistant_ = std::move(assistant);
  runner->transformer_ =
      std::make_unique<Transformer>(runner->config_, runner->weights_, runner->kv_, runner->snapshots_, kernels,
                                    Math(options.bits), request.pool, max_rows);
  if (runner->assistant_) runner->transformer_->add_assistant(*runner->assistant_);
  if (make_leading) OCTAVO_TRY_VOID(runner->add_leading_layers(options, make_leading));
  return runner;
}

Result<void> CpuRunner::add_leading_layers(const RunnerOptions& options, const MakeLeadingLayers& make) {
  OCTAVO_TRY(leading_, make({.config = config_,
                             .weights = weights_,
                             .room = kv_.room(),
                             .options = options,
                             .max_rows = info_.max_rows}));
  if (leading_ == nullptr) return {};
  kv_.leave_out(leading_->count());
  snapshots_.leave_out(leading_->count());
  transformer_->add_leading_layers(*leading_);
  info_.device = leading_->description();
  info_.device_has_all = leading_->has_output();
  return {};
}

BatchOutcome CpuRunner::wait() {
  const Batch* batch = std::exchange(batch_, nullptr);
  const GuessBatch* guesses = std::exchange(guess_batch_, nullptr);
  OCTAVO_CHECK(batch != nullptr, "no batch was begun");
  BatchOutcome outcome;
  compute(*batch, guesses, outcome);
  outcome.grown_bytes = kv_.grown_bytes();
  if (!outcome.is_refused && guesses != nullptr) {
    outcome.guesses = guesses_;
  } else if (!outcome.is_refused && batch->num_rows() > 0) {
    outcome.waited = transformer_->waited();
    outcome.expert_bytes = transformer_->experts().bytes_read();
    outcome.not_finite = transformer_->experts().not_finite();
    outcome.spoiled = transformer_->spoiled();
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

/// False where there is no memory.
bool CpuRunner::compute_rows(const Batch& batch, const GuessBatch* guesses) {
  if (!fault_.empty()) return false;
  OCTAVO_CHECK(batch.num_rows() <= info_.max_rows, "{} rows, room for {}", batch.num_rows(), info_.max_rows);
  transformer_->advance_states(batch.advances);
  kv_.release(batch.releases);
  snapshots_.release(batch.releases);
  if (batch.num_rows() == 0) return true;
  if (!grow(batch)) return false;
  kv_.copy_blocks(batch.copies);
  if (leading_ != nullptr) leading_->copy_blocks(batch.copies);
  snapshots_.copy(batch.copies);
  if (guesses == nullptr) {
    transformer_->forward(batch);
  } else {
    guesses_ = transformer_->guess(*guesses);
  }
  return true;
}

/// Memory for the tokens of every sequence, of which those before its first row are kept. Only the contiguous layout
/// needs more than it has. False where there is none.
bool CpuRunner::grow(const Batch& batch) {
  for (int s = 0; s < batch.num_seqs(); ++s) {
    const int end = batch.kv_len[to_size(s)];
    const int num_kept = batch.positions[to_size(batch.seq_begin[to_size(s)])];
    if (kv_.must_grow(end) && !kv_.grow(num_kept, end)) return false;
  }
  return true;
}

// Logits that are no numbers end the requests that wait for them.
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
