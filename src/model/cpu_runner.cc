#include "model/cpu_runner.h"

#include <algorithm>

#include "base/page_memory.h"
#include "kernels/dispatch.h"
#include "kernels/packed_layout.h"

namespace octavo {
namespace {

Result<void> check_options(const CpuRunnerOptions& options, const ModelSource& source, const ModelConfig& config) {
  OCTAVO_CHECK(options.max_rows >= 1 && options.max_seqs >= 1, "{} rows, {} sequences", options.max_rows,
               options.max_seqs);
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

/// Every weight type works on rows that are whole blocks; int8 activations on whole blocks of 32.
Result<void> check_widths(const ModelSource& source, const Weights& weights) {
  const auto check = [&](const WeightMatrix& m, std::string_view what) -> Result<void> {
    if (!m.is_quantized() || m.cols % kActBlock == 0) return {};
    return fail("{}: rows of {} weights ({}) do not divide into blocks of {}", source.name(), m.cols, what, kActBlock);
  };
  OCTAVO_TRY_VOID(check(weights.output, "output"));
  Result<void> checked;
  for (const LayerWeights& w : weights.layers)
    visit_matrices(w, [&](const WeightMatrix& matrix, bool) {
      if (checked) checked = check(matrix, "of a layer");
    });
  return checked;
}

Result<std::unique_ptr<PagedKvCache>> make_kv(const ModelConfig& config, const CpuRunnerOptions& options, int context,
                                              std::uint64_t budget) {
  const std::int64_t max_tokens = options.kv_layout == KvLayout::kContiguous
                                      ? context
                                      : (std::int64_t{context} + options.block_size) * options.max_seqs;
  std::vector<KvLayerShape> layers;
  for (const LayerSpec& layer : config.layers)
    layers.push_back({.num_kv_heads = layer.attention()->num_kv_heads,
                      .head_dim = layer.attention()->head_dim,
                      .window = layer.attention()->window,
                      .borrows_from = layer.attention()->borrows_from});
  return PagedKvCache::create({.type = options.kv_type,
                               .layout = options.kv_layout,
                               .block_size = options.block_size,
                               .layers = std::move(layers),
                               .memory_bytes = budget,
                               .max_tokens = max_tokens,
                               .longest_sequence = context,
                               .max_sequences = options.max_seqs,
                               .prefix_cache = options.prefix_cache});
}

}  // namespace

std::uint64_t default_kv_memory(std::uint64_t available_bytes, std::uint64_t mapped_weight_bytes) {
  const std::uint64_t left = available_bytes - std::min(available_bytes, mapped_weight_bytes);
  return std::max(left / 2, available_bytes / 8);
}

Result<std::unique_ptr<CpuRunner>> CpuRunner::load(const ModelSource& source, const CpuRunnerOptions& options,
                                                   ThreadPool& pool) {
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(source));
  OCTAVO_TRY_VOID(check_options(options, source, config));
  OCTAVO_TRY(Weights weights,
             Weights::load(source, config, options.repack, pool, [&](std::uint64_t done, std::uint64_t total) {
               if (options.on_load_progress) options.on_load_progress({done, total});
             }));
  OCTAVO_TRY_VOID(check_widths(source, weights));

  const int wanted_context = options.max_context != 0 ? options.max_context : config.context_length;
  const std::uint64_t budget =
      options.kv_memory_bytes != 0
          ? options.kv_memory_bytes
          : PageMemory::allowed_bytes(default_kv_memory(available_memory_bytes(), weights.mapped_bytes()));
  OCTAVO_TRY(std::unique_ptr<PagedKvCache> kv, make_kv(config, options, wanted_context, budget));
  const std::int64_t fitting = kv->max_sequence_tokens();
  if (options.max_context > fitting)
    return fail("max_context is {} tokens, but a KV memory of {} bytes holds {}", options.max_context, budget, fitting);

  std::unique_ptr<CpuRunner> runner(new CpuRunner(std::move(config), std::move(weights), std::move(kv)));
  runner->max_context_ = static_cast<int>(std::min<std::int64_t>(wanted_context, fitting));
  runner->max_rows_ = options.max_rows;
  runner->transformer_ = std::make_unique<Transformer>(runner->config_, runner->weights_, runner->kv_->arena(),
                                                       kernel_table(options.isa), pool, options.max_rows);
  return runner;
}

void CpuRunner::forward(const Batch& batch) {
  OCTAVO_CHECK(batch.num_rows() <= max_rows_, "{} rows, room for {}", batch.num_rows(), max_rows_);
  kv_->make_copies(batch.copies);
  transformer_->forward(batch);
}

std::span<const float> CpuRunner::logits(int first, int count) { return transformer_->logits(first, count); }

std::uint64_t CpuRunner::kv_bytes_per_token() const { return kv_->arena().layout().bytes_per_token(); }

}  // namespace octavo
