#include "model/cpu_runner.h"

#include <bit>

#include "kernels/dispatch.h"
#include "kernels/packed_layout.h"

namespace octavo {
namespace {

Result<void> check_options(const CpuRunnerOptions& options, const ModelConfig& config) {
  if (options.block_size < 1 || options.block_size > 256 ||
      !std::has_single_bit(static_cast<unsigned>(options.block_size)))
    return fail("block_size is {}, expected a power of two from 1 to 256", options.block_size);
  if (options.max_rows < 1) return fail("max_step_tokens is {}, expected at least 1", options.max_rows);
  if (options.max_context < 0 || options.max_context > config.context_length)
    return fail("max_context is {}, expected 1 to {}, what the model was trained for (0: that)", options.max_context,
                config.context_length);
  if (config.head_dim > kMaxHeadDim)
    return fail("{}: heads of {} dimensions are not supported, the most is {}", config.name, config.head_dim,
                kMaxHeadDim);
  return {};
}

/// Every weight type works on rows that are whole blocks; int8 activations on whole blocks of 32.
Result<void> check_widths(const ModelConfig& config, const Weights& weights) {
  const auto check = [&](const PackedMatrix& m, std::string_view what) -> Result<void> {
    if (is_plain_float(m.type) || m.cols % kActBlock == 0) return {};
    return fail("{}: rows of {} weights ({}) do not divide into blocks of {}", config.name, m.cols, what, kActBlock);
  };
  OCTAVO_TRY_VOID(check(weights.output, "output"));
  for (const LayerWeights& w : weights.layers)
    for (const PackedMatrix* m : {&w.q, &w.k, &w.v, &w.o, &w.gate, &w.up, &w.down})
      OCTAVO_TRY_VOID(check(*m, "of a layer"));
  return {};
}

}  // namespace

KvShape kv_shape(const ModelConfig& config, KvType type, int block_size) {
  KvShape shape{.type = type,
                .block_size = block_size,
                .num_kv_heads = config.num_kv_heads,
                .head_dim = config.head_dim,
                .group_layers = {}};
  int windowed = 0;
  for (int i = 0; i < config.num_layers; ++i) windowed += config.is_windowed(i) ? 1 : 0;
  if (windowed > 0) shape.group_layers.push_back(windowed);
  if (windowed < config.num_layers) shape.group_layers.push_back(config.num_layers - windowed);
  return shape;
}

namespace {

Result<KvStorage> make_kv(const ModelConfig& config, const CpuRunnerOptions& options, int context,
                          std::uint64_t budget) {
  const KvShape shape = kv_shape(config, options.kv_type, options.block_size);
  if (options.kv_layout == KvLayout::kContiguous) return KvStorage::create_contiguous(shape, budget, context);
  const std::int64_t blocks_per_sequence = static_cast<std::int64_t>(context) / options.block_size + 1;
  return KvStorage::create(shape, budget, blocks_per_sequence * options.max_seqs);
}

}  // namespace

Result<std::unique_ptr<CpuRunner>> CpuRunner::load(const GgufFile& file, const CpuRunnerOptions& options,
                                                   ThreadPool& pool) {
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(file));
  OCTAVO_TRY_VOID(check_options(options, config));
  OCTAVO_TRY(Weights weights, Weights::load(file, config, pool, [&](std::uint64_t done, std::uint64_t total) {
               if (options.on_load_progress) options.on_load_progress({done, total});
             }));
  OCTAVO_TRY_VOID(check_widths(config, weights));

  const int wanted_context = options.max_context != 0 ? options.max_context : config.context_length;
  const std::uint64_t budget = options.kv_memory_bytes != 0 ? options.kv_memory_bytes : available_memory_bytes() / 2;
  OCTAVO_TRY(KvStorage kv, make_kv(config, options, wanted_context, budget));
  const std::int64_t fitting = static_cast<std::int64_t>(kv.num_blocks()) * kv.shape().block_size;
  if (options.max_context > fitting)
    return fail("max_context is {} tokens, but a KV memory of {} bytes holds {}", options.max_context, budget, fitting);

  std::unique_ptr<CpuRunner> runner(new CpuRunner(std::move(config), std::move(weights), std::move(kv)));
  runner->max_context_ = static_cast<int>(std::min<std::int64_t>(wanted_context, fitting));
  runner->max_rows_ = options.max_rows;
  runner->geometry_.block_size = runner->kv_.shape().block_size;
  const std::size_t groups = runner->kv_.shape().group_layers.size();
  for (std::size_t g = 0; g < groups; ++g)
    runner->geometry_.groups.push_back(
        {.num_blocks = runner->kv_.num_blocks(), .window = g == 0 ? runner->config_.window : 0});
  runner->transformer_ =
      std::make_unique<Transformer>(runner->config_, runner->weights_, runner->kv_, kernel_table(options.isa), pool,
                                    options.max_rows, runner->max_context_);
  return runner;
}

void CpuRunner::forward(const Batch& batch) {
  OCTAVO_CHECK(batch.num_rows() <= max_rows_, "{} rows, room for {}", batch.num_rows(), max_rows_);
  logit_rows_.assign(batch.logit_rows.begin(), batch.logit_rows.end());
  transformer_->forward(batch);
}

std::span<const float> CpuRunner::logits(int first, int count) {
  const auto rows = std::span<const std::int32_t>(logit_rows_);
  return transformer_->logits(rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

std::uint64_t CpuRunner::kv_bytes_per_token() const { return kv_.shape().bytes_per_token(); }

}  // namespace octavo
