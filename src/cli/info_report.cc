#include "cli/info_report.h"

#include <algorithm>
#include <map>

#include "base/cpu_info.h"
#include "base/text.h"
#include "base/to_size.h"
#include "chat/chat_tokenizer.h"
#include "engine/load/generation_config.h"
#include "engine/load/matrix_types.h"
#include "model/assistant.h"
#include "model/model_state.h"
#include "model/weight_need.h"
#include "toolcalls/tool_format.h"

namespace octavo::cli {
namespace {

// Beside weights and KV cache a process takes at most this (docs/kv_budget.md).
constexpr std::uint64_t kScratchBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kScratchBytesPerWord = 512;  // of the vocabulary
constexpr std::uint64_t kRowsOfAStep = 512;          // unless told

/// Inputs and results of experts, for all choices of a step's rows (docs/experts.md).
std::uint64_t scratch_of_experts(const ModelConfig& config) {
  std::uint64_t most = 0;
  for (const LayerSpec& layer : config.layers)
    if (const auto* experts = std::get_if<ExpertsFfnSpec>(&layer.feed_forward))
      most = std::max(
          most, kRowsOfAStep *
                    (to_size(experts->num_chosen) *
                         (6 * to_size(experts->row_width(config.width)) + 2 * to_size(experts->width)) +
                     6 * to_size(experts->latent_width) + (experts->shared_width > 0 ? 4 * to_size(config.width) : 0)));
  return most;
}

/// Inputs of all layers for a step's rows.
std::uint64_t scratch_of_per_layer_inputs(const ModelConfig& config) {
  return kRowsOfAStep * to_size(config.num_per_layer_inputs()) * sizeof(float);
}

/// Rows that go into a draft head: twice the width, and once behind its projection.
std::uint64_t scratch_of_draft_head(const ModelConfig& config) {
  return config.has_draft_head ? kRowsOfAStep * 3 * to_size(config.width) * sizeof(float) : 0;
}

std::string string_or_empty(const ModelSource& source, std::string_view key) {
  const auto text = source.get_string(key);
  return text ? printable(*text) : std::string();
}

VocabularyInfo read_vocabulary(const ModelSource& source) {
  VocabularyInfo info{.model = string_or_empty(source, "tokenizer.ggml.model"),
                      .pretokenizer = string_or_empty(source, "tokenizer.ggml.pre")};
  if (const auto tokens = source.get_strings("tokenizer.ggml.tokens")) info.num_tokens = tokens->size();
  if (const auto chat = ChatTokenizer::load(source)) {
    const Tokenizer& tokenizer = chat->tokenizer();
    if (info.model.empty()) {
      info.model = "tokenizer.json";
      info.num_tokens = to_size(tokenizer.vocab_size());
    }
    info.end_tokens.assign(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end());
    if (const ReasoningMarks* marks = chat->reasoning()) info.reasoning = marks->family().name;
    if (const ToolFormat* format = chat->tool_format()) info.tool_format = format->name;
    info.describes_tools = chat->describes_tools();
  }
  return info;
}

void add_tensor(WeightSum& sum, const SourceTensor& tensor) {
  sum.type = tensor.tensor.type;
  ++sum.num_tensors;
  sum.num_weights += static_cast<std::uint64_t>(tensor.tensor.rows * tensor.tensor.cols);
  sum.bytes += tensor.tensor.bytes();
}

void count_weights(const ModelSource& source, InfoReport& report) {
  const auto part_in = [&](std::string_view tensor) {
    return report.config ? part_of(*report.config, tensor) : part_of(tensor);
  };
  std::map<DType, WeightSum> by_type;
  std::map<std::pair<ModelPart, DType>, WeightSum> by_part;
  for (const SourceTensor& tensor : source.tensors()) {
    const ModelPart part = part_in(tensor.name);
    add_tensor(by_type[tensor.tensor.type], tensor);
    WeightSum& sum = by_part[{part, tensor.tensor.type}];
    sum.part = name_of(part);
    add_tensor(sum, tensor);
    report.num_weights += static_cast<std::uint64_t>(tensor.tensor.rows * tensor.tensor.cols);
    report.weight_bytes += tensor.tensor.bytes();
  }
  const auto larger = [](const WeightSum& a, const WeightSum& b) { return a.bytes > b.bytes; };
  for (const auto& [type, sum] : by_type) report.by_type.push_back(sum);
  std::stable_sort(report.by_type.begin(), report.by_type.end(), larger);
  for (ModelPart part = ModelPart::kEmbedding; part <= ModelPart::kSkipped;
       part = static_cast<ModelPart>(static_cast<int>(part) + 1)) {
    const auto begin = static_cast<std::ptrdiff_t>(report.by_part.size());
    for (const auto& [key, sum] : by_part)
      if (key.first == part) report.by_part.push_back(sum);
    std::stable_sort(report.by_part.begin() + begin, report.by_part.end(), larger);
  }
}

/// The draft head that an engine takes unless told: one that is whole.
void take_draft_head(const ModelSource& source, InfoReport& report) {
  if (!report.config->prediction_layer) return;
  ModelConfig with_head = *report.config;
  with_head.add_draft_head();
  const Result<WeightNeed> whole = weight_need(source, with_head);
  if (whole) {
    report.config = std::move(with_head);
  } else {
    report.draft_head_fault = whole.error().message;
  }
}

MemoryNeed estimate_memory(const ModelConfig& config, const WeightNeed& weights, const InfoOptions& options) {
  MemoryNeed need{.context = options.context == 0 ? config.context_length : options.context,
                  .kv_type = options.kv_type,
                  .weight_bytes = weights.bytes(true),
                  .unmapped_weight_bytes = weights.bytes(false) - weights.mapped_bytes,
                  .mapped_weight_bytes = weights.mapped_bytes};
  const KvNeed kv = kv_need(config, options.kv_type, options.block_size, need.context);
  need.kv_bytes_per_token = kv.bytes_per_token;
  need.kv_bytes = kv.bytes;
  need.recurrent_bytes = kv.recurrent_bytes;
  return need;
}

MemoryHere fit_memory(const ModelConfig& config, const MemoryNeed& need, std::uint64_t num_words,
                      const InfoOptions& options) {
  MemoryHere here{.available_bytes = options.available_bytes.value_or(available_memory_bytes())};
  const std::uint64_t taken = need.weight_bytes + kScratchBytes + num_words * kScratchBytesPerWord +
                              scratch_of_experts(config) + scratch_of_per_layer_inputs(config) +
                              scratch_of_draft_head(config);
  here.kv_bytes = default_kv_memory(here.available_bytes - std::min(here.available_bytes, taken), 0);
  for (const KvType type : {KvType::kI16, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF32})
    here.fits.push_back({type, largest_context(config, type, options.block_size, here.kv_bytes)});
  here.context = largest_context(config, options.kv_type, options.block_size, here.kv_bytes);
  return here;
}

/// What has room on the card; none: the processor is to compute, or may, as there is no card.
Result<std::optional<gpu::CardFit>> fit_card(const InfoReport& report, const WeightList& weights,
                                             const InfoOptions& options) {
  if (options.device == Device::kCpu) return std::nullopt;
  Result<gpu::CardFit> fit = gpu::fit_on_card(*report.config, weights,
                                              {.kv_type = options.kv_type,
                                               .block_size = options.block_size,
                                               .context = report.memory->context,
                                               .gpu_layers = options.gpu_layers});
  if (fit) return std::move(*fit);
  if (options.device == Device::kAuto) return std::nullopt;
  return fail("device: found cuda, but {}", fit.error().message);
}

void add_heads(const AttentionSpec& attention, LayerShapes& shapes) {
  shapes.num_heads = std::max(shapes.num_heads, attention.num_heads);
  shapes.num_kv_heads = std::max(shapes.num_kv_heads, attention.num_kv_heads);
  shapes.head_dim = std::max(shapes.head_dim, attention.head_dim);
  const auto same = std::ranges::find_if(shapes.heads, [&](const HeadShape& known) {
    return known.num_heads == attention.num_heads && known.num_kv_heads == attention.num_kv_heads &&
           known.head_dim == attention.head_dim && known.v_dim == attention.v_dim();
  });
  if (same != shapes.heads.end()) {
    ++same->num_layers;
  } else {
    shapes.heads.push_back({attention.num_heads, attention.num_kv_heads, attention.head_dim, attention.v_dim(), 1});
  }
}

}  // namespace

LayerShapes shapes_of_layers(const ModelConfig& config) {
  LayerShapes shapes;
  for (const LayerSpec& layer : config.own_layers()) {
    if (!layer.has_mixer()) ++shapes.num_without_mixer;
    if (!layer.has_feed_forward()) ++shapes.num_without_ffn;
    if (const auto* dense = std::get_if<DenseFfnSpec>(&layer.feed_forward))
      shapes.ffn_width = std::max(shapes.ffn_width, dense->width);
    if (const auto* experts = std::get_if<ExpertsFfnSpec>(&layer.feed_forward)) {
      shapes.ffn_width = std::max(shapes.ffn_width, experts->width);
      shapes.num_experts = std::max(shapes.num_experts, experts->num_experts);
      shapes.num_chosen = std::max(shapes.num_chosen, experts->num_chosen);
      shapes.shared_width = std::max(shapes.shared_width, experts->shared_width);
    }
    if (const DeltaSpec* delta = layer.delta()) {
      ++shapes.num_recurrent;
      if (!shapes.delta) shapes.delta = *delta;
    }
    if (const MambaSpec* mamba = layer.mamba()) {
      ++shapes.num_recurrent;
      if (!shapes.mamba) shapes.mamba = *mamba;
    }
    if (const ShortConvSpec* convolution = layer.short_conv()) {
      ++shapes.num_recurrent;
      shapes.convolution_taps = std::max(shapes.convolution_taps, convolution->taps);
    }
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr) continue;
    add_heads(*attention, shapes);
    if (!shapes.latent) shapes.latent = attention->latent;
    if (attention->borrows_from) ++shapes.num_borrowing;
    shapes.window = std::max(shapes.window, attention->window);
    shapes.is_chunked = shapes.is_chunked || attention->is_chunked;
    if (attention->window == 0) ++shapes.num_without_window;
    if (attention->rope.num_rotated == 0) ++shapes.num_without_rope;
  }
  return shapes;
}

std::uint64_t weights_of_idle_experts(const ModelConfig& config) {
  std::uint64_t weights = 0;
  for (const LayerSpec& layer : config.layers) {
    const auto* experts = std::get_if<ExpertsFfnSpec>(&layer.feed_forward);
    if (experts == nullptr) continue;
    std::uint64_t of_one =
        to_size(experts->is_gated ? 3 : 2) * to_size(experts->width) * to_size(experts->row_width(config.width));
    if (experts->result_scales != Presence::kAbsent) ++of_one;
    if (experts->biases != Presence::kAbsent) of_one += 2 * to_size(experts->width) + to_size(config.width);
    weights += to_size(experts->num_experts - experts->num_chosen) * of_one;
  }
  return weights;
}

Result<InfoReport> make_info_report(const ModelSource& source, const InfoOptions& options) {
  InfoReport report;
  report.path = source.name();
  report.file_bytes = source.files().bytes;
  report.num_files = source.files().num_files;
  report.format = source.files().format;
  report.version = source.files().version;
  report.num_metadata = source.metadata().size();
  report.architecture = string_or_empty(source, "general.architecture");
  report.name = string_or_empty(source, "general.name");
  report.vocabulary = read_vocabulary(source);
  OCTAVO_TRY(SamplingDefaults sampling, SamplingDefaults::read(source));
  if (!options.generation_config.empty()) {
    OCTAVO_TRY(const SamplingDefaults first,
               parse_generation_config(options.generation_config, static_cast<int>(report.vocabulary.num_tokens)));
    sampling = sampling.behind(first);
  }
  report.sampling = sampling.described();
  if (!source.tensors().empty()) {
    OCTAVO_TRY(report.config, ModelConfig::load(source));
    report.is_head_alone = holds_head_alone(source, *report.config);
    if (!report.is_head_alone) take_draft_head(source, report);
  }
  count_weights(source, report);
  if (!report.config || report.drafts_only()) return report;
  OCTAVO_TRY(const MatrixTypes types, matrix_types(source, options.quantize));
  OCTAVO_TRY(const WeightList weights, WeightList::create(source, *report.config, types));
  report.memory = estimate_memory(*report.config, weight_need(weights), options);
  report.memory->quantized = options.quantize;
  report.here = fit_memory(*report.config, *report.memory, report.vocabulary.num_tokens, options);
  OCTAVO_TRY(report.card, fit_card(report, weights, options));
  return report;
}

}  // namespace octavo::cli
