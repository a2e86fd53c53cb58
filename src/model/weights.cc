#include "model/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/tensor_names.h"
#include "model/weight_need.h"
#include "tensor/dequantize.h"

namespace octavo {

namespace {

constexpr std::size_t kSampleBytes = 4096;  // of a matrix that stays in the file, for its hash

std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

/// Rows of `cols` floats become columns.
void transpose(std::span<float> floats, std::size_t cols) {
  const std::vector<float> rows(floats.begin(), floats.end());
  const std::size_t num_rows = floats.size() / cols;
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i % cols * num_rows + i / cols] = rows[i];
}

}  // namespace

/// First lists what the model needs and checks it, so that a wrong file is refused before memory is taken; then loads.
class WeightLoader {
 public:
  WeightLoader(const ModelSource& source, const ModelConfig& config) : source_(source), config_(config) {}

  Result<void> list(Weights& w);
  // Each gives a hash of what it loads.
  Result<ContentHash> load_vectors(Weights& w) const;
  Result<ContentHash> pack_matrices(Weights& w, ThreadPool& pool, const RepackProgress& progress) const;
  Result<ContentHash> map_matrices(Weights& w) const;

 private:
  struct Matrix {
    const SourceTensor* source;
    WeightMatrix* target;  // the first one
    int count = 1;         // of the same shape, one behind another

    std::size_t packed_bytes_of_one() const { return packed_bytes(target->type, target->rows, target->cols); }
  };
  struct Vector {
    const SourceTensor* source;
    const float** target;
    bool transposed = false;

    std::size_t num_floats() const { return to_size(source->tensor.rows * source->tensor.cols); }
  };

  Result<const SourceTensor*> find(const std::string& name, std::int64_t rows, std::int64_t cols, Presence presence);
  Result<void> matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target);
  /// `name`: of the weights. A bias has the same stem.
  Result<void> experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows, std::int64_t cols,
                       ExpertMatrices& target);
  Result<void> scale(const std::string& weights, int count, WeightMatrix& target);
  Result<void> vector(const std::string& name, std::int64_t size, Presence presence, const float*& target) {
    return vectors(name, 1, size, presence, target);
  }
  /// [count][size]
  Result<void> vectors(const std::string& name, std::int64_t count, std::int64_t size, Presence presence,
                       const float*& target);
  /// A small matrix as floats, transposed: [cols][rows].
  Result<void> transposed(const std::string& name, std::int64_t rows, std::int64_t cols, const float*& target);
  Result<void> list_layer(int layer, LayerWeights& w);
  Result<void> list_mixer(int layer, const AttentionSpec& spec, LayerWeights& w);
  Result<void> list_mixer(int layer, const DeltaSpec& spec, LayerWeights& w);
  Result<void> list_feed_forward(int layer, const DenseFfnSpec& spec, LayerWeights& w);
  Result<void> list_feed_forward(int layer, const ExpertsFfnSpec& spec, LayerWeights& w);
  Result<void> list_per_layer(int layer, PerLayerWeights& w);
  Result<void> list_per_layer(PerLayerTables& w);
  Result<void> list_rope_factors(Weights& w);
  Result<void> check_all_used() const;

  const ModelSource& source_;
  const ModelConfig& config_;
  std::vector<Matrix> matrices_;
  std::vector<Vector> vectors_;
  std::set<std::string_view> used_;
};

Result<const SourceTensor*> WeightLoader::find(const std::string& name, std::int64_t rows, std::int64_t cols,
                                               Presence presence) {
  const SourceTensor* tensor = presence == Presence::kAbsent ? nullptr : source_.find_tensor(name);
  if (tensor == nullptr) {
    if (presence != Presence::kRequired) return nullptr;
    return fail("{}: no tensor {}, which architecture {} needs", source_.name(), name, config_.architecture);
  }
  if (tensor->tensor.rows != rows || tensor->tensor.cols != cols)
    return fail("{}: tensor {} has {} rows of {}, expected {} rows of {} by the metadata of {}", source_.name(), name,
                tensor->tensor.rows, tensor->tensor.cols, rows, cols, config_.architecture);
  used_.insert(tensor->name);
  return tensor;
}

Result<void> WeightLoader::matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, rows, cols, Presence::kRequired));
  target = {.type = tensor->tensor.type, .rows = rows, .cols = cols};
  matrices_.push_back({tensor, &target});
  return tensor->tensor.type == DType::kNVFP4 ? scale(name, 1, target) : Result<void>{};
}

/// The factors of `count` whole matrices, one a matrix, stand beside them as a tensor, and not at all if they are 1.
/// Others are those of activations in 4 bits, which are not made here.
Result<void> WeightLoader::scale(const std::string& weights, int count, WeightMatrix& target) {
  const std::string stem = stem_of(weights);
  OCTAVO_TRY_VOID(vector(stem + ".scale", count, Presence::kOptional, target.scale));
  OCTAVO_TRY(const SourceTensor* of_input, find(stem + ".input_scale", 1, count, Presence::kOptional));
  static_cast<void>(of_input);
  return {};
}

Result<void> WeightLoader::experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows,
                                   std::int64_t cols, ExpertMatrices& target) {
  const int count = spec.num_experts;
  const SourceTensor* tensor = source_.find_tensor(name);
  if (tensor != nullptr &&
      (tensor->dims.size() != 3 || tensor->tensor.cols != cols || static_cast<std::int64_t>(tensor->dims[1]) != rows ||
       tensor->dims[2] != static_cast<std::uint64_t>(count)))
    return fail("{}: tensor {} has the dimensions {}, expected {}, {}, {}: {} experts by the metadata of {}",
                source_.name(), name, fmt::join(tensor->dims, ", "), cols, rows, count, count, config_.architecture);
  OCTAVO_TRY(tensor, find(name, rows * count, cols, Presence::kRequired));
  target = {.first = {.type = tensor->tensor.type, .rows = rows, .cols = cols}, .count = count};
  matrices_.push_back({tensor, &target.first, count});
  OCTAVO_TRY_VOID(vectors(stem_of(name) + ".bias", count, rows, spec.biases, target.bias));
  return tensor->tensor.type == DType::kNVFP4 ? scale(name, count, target.first) : Result<void>{};
}

Result<void> WeightLoader::vectors(const std::string& name, std::int64_t count, std::int64_t size, Presence presence,
                                   const float*& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, count, size, presence));
  if (tensor != nullptr) vectors_.push_back({tensor, &target});
  return {};
}

Result<void> WeightLoader::transposed(const std::string& name, std::int64_t rows, std::int64_t cols,
                                      const float*& target) {
  OCTAVO_TRY_VOID(vectors(name, rows, cols, Presence::kRequired, target));
  vectors_.back().transposed = true;
  return {};
}

Result<void> WeightLoader::list_mixer(int layer, const AttentionSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  AttentionWeights& a = w.mixer.emplace<AttentionWeights>();
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNorm), config_.width, Presence::kRequired, w.mixer_norm));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kQ), spec.q_rows(), config_.width, a.q));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kQBias), spec.q_width(), spec.qkv_bias, a.q_bias));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kQNorm), spec.head_dim, spec.qk_norm, a.q_norm));
  if (!spec.borrows_from) {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kK), spec.kv_width(), config_.width, a.k));
    if (!spec.v_is_k) OCTAVO_TRY_VOID(matrix(name(tensor_names::kV), spec.kv_width(), config_.width, a.v));
    OCTAVO_TRY_VOID(vector(name(tensor_names::kKBias), spec.kv_width(), spec.qkv_bias, a.k_bias));
    OCTAVO_TRY_VOID(vector(name(tensor_names::kVBias), spec.kv_width(), spec.qkv_bias, a.v_bias));
    OCTAVO_TRY_VOID(vector(name(tensor_names::kKNorm), spec.head_dim, spec.qk_norm, a.k_norm));
  }
  OCTAVO_TRY_VOID(vector(name(tensor_names::kSinks), spec.num_heads, spec.sinks, a.sinks));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kAttentionOutput), config_.width, spec.q_width(), a.o));
  return vector(name(tensor_names::kAttentionOutputBias), config_.width, spec.output_bias, a.o_bias);
}

Result<void> WeightLoader::list_mixer(int layer, const DeltaSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  const int heads = spec.num_value_heads;
  DeltaWeights& d = w.mixer.emplace<DeltaWeights>();
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNorm), config_.width, Presence::kRequired, w.mixer_norm));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDeltaQkv), spec.num_channels(), config_.width, d.qkv));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDeltaGate), spec.value_width(), config_.width, d.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDecay), heads, config_.width, d.decay));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kBeta), heads, config_.width, d.beta));
  OCTAVO_TRY_VOID(transposed(name(tensor_names::kConvolution), spec.num_channels(), spec.taps, d.taps));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayBias), heads, Presence::kRequired, d.decay_bias));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayScale), heads, Presence::kRequired, d.decay_scale));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDeltaNorm), spec.value_dim, Presence::kRequired, d.norm));
  return matrix(name(tensor_names::kDeltaOutput), config_.width, spec.value_width(), d.output);
}

Result<void> WeightLoader::list_feed_forward(int layer, const DenseFfnSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  DenseFfnWeights& f = w.feed_forward.emplace<DenseFfnWeights>();
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kGate), spec.width, config_.width, f.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kUp), spec.width, config_.width, f.up));
  return matrix(name(tensor_names::kDown), config_.width, spec.width, f.down);
}

Result<void> WeightLoader::list_feed_forward(int layer, const ExpertsFfnSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  ExpertsFfnWeights& f = w.feed_forward.emplace<ExpertsFfnWeights>();
  f.num_chosen = spec.num_chosen;
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kRouter), spec.num_experts, config_.width, f.router));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kRouterBias), spec.num_experts, spec.biases, f.router_bias));
  OCTAVO_TRY_VOID(experts(name(tensor_names::kGateOfExperts), spec, spec.width, config_.width, f.gate));
  OCTAVO_TRY_VOID(experts(name(tensor_names::kUpOfExperts), spec, spec.width, config_.width, f.up));
  OCTAVO_TRY_VOID(experts(name(tensor_names::kDownOfExperts), spec, config_.width, spec.width, f.down));
  if (spec.shared_width == 0) return {};
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kSharedExpertGate), 1, config_.width, f.shared_gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kGateOfSharedExpert), spec.shared_width, config_.width, f.shared.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kUpOfSharedExpert), spec.shared_width, config_.width, f.shared.up));
  return matrix(name(tensor_names::kDownOfSharedExpert), config_.width, spec.shared_width, f.shared.down);
}

Result<void> WeightLoader::list_layer(int layer, LayerWeights& w) {
  const LayerSpec& spec = config_.layer(layer);
  OCTAVO_TRY_VOID(std::visit([&](const auto& mixer) { return list_mixer(layer, mixer, w); }, spec.mixer));
  const std::string_view norm =
      spec.ffn_norm_is_post_attention ? tensor_names::kPostAttentionNorm : tensor_names::kFfnNorm;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, norm), config_.width, Presence::kRequired, w.ffn_norm));
  OCTAVO_TRY_VOID(std::visit([&](const auto& ffn) { return list_feed_forward(layer, ffn, w); }, spec.feed_forward));
  const Presence post_norms = spec.post_norms ? Presence::kRequired : Presence::kAbsent;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kPostAttentionNorm), config_.width, post_norms,
                         w.post_mixer_norm));
  OCTAVO_TRY_VOID(
      vector(tensor_names::of_layer(layer, tensor_names::kPostFfnNorm), config_.width, post_norms, w.post_ffn_norm));
  const Presence output_scale = spec.output_scale ? Presence::kRequired : Presence::kAbsent;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kOutputScale), 1, output_scale, w.output_scale));
  return config_.per_layer_width > 0 ? list_per_layer(layer, w.per_layer) : Result<void>{};
}

Result<void> WeightLoader::list_per_layer(int layer, PerLayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kPerLayerGate), config_.per_layer_width, config_.width, w.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kPerLayerUp), config_.width, config_.per_layer_width, w.up));
  return vector(name(tensor_names::kPerLayerPostNorm), config_.width, Presence::kRequired, w.post_norm);
}

Result<void> WeightLoader::list_per_layer(PerLayerTables& w) {
  if (config_.per_layer_width == 0) return {};
  const std::int64_t inputs = std::int64_t{config_.num_layers()} * config_.per_layer_width;
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPerLayerTable), config_.vocab_size, inputs, w.table));
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPerLayerProjection), inputs, config_.width, w.projection));
  return vector(std::string(tensor_names::kPerLayerNorm), config_.per_layer_width, Presence::kRequired, w.norm);
}

/// One tensor for all layers whose positions it changes.
Result<void> WeightLoader::list_rope_factors(Weights& w) {
  for (const LayerSpec& layer : config_.layers) {
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr || attention->rope.factors == Presence::kAbsent) continue;
    return vector(std::string(tensor_names::kRopeFactors), attention->rope.num_rotated / 2, attention->rope.factors,
                  w.rope_factors);
  }
  return {};
}

Result<void> WeightLoader::check_all_used() const {
  for (const SourceTensor& tensor : source_.tensors())
    if (!used_.contains(tensor.name) && !is_skipped(config_, tensor.name))
      return fail("{}: tensor {} is not part of architecture {} as Octavo knows it", source_.name(), quote(tensor.name),
                  config_.architecture);
  return {};
}

Result<void> WeightLoader::list(Weights& w) {
  const std::string embedding(tensor_names::kEmbedding), output(tensor_names::kOutput);
  OCTAVO_TRY_VOID(matrix(embedding, config_.vocab_size, config_.width, w.embedding));
  OCTAVO_TRY_VOID(vector(std::string(tensor_names::kOutputNorm), config_.width, Presence::kRequired, w.output_norm));
  if (!config_.tied_output) OCTAVO_TRY_VOID(matrix(output, config_.vocab_size, config_.width, w.output));
  OCTAVO_TRY_VOID(list_rope_factors(w));
  OCTAVO_TRY_VOID(list_per_layer(w.per_layer));
  w.layers.resize(config_.layers.size());
  for (int i = 0; i < config_.num_layers(); ++i) OCTAVO_TRY_VOID(list_layer(i, w.layers[to_size(i)]));
  return check_all_used();
}

Result<ContentHash> WeightLoader::load_vectors(Weights& w) const {
  std::size_t num_floats = 0;
  for (const Vector& v : vectors_) num_floats += vector_floats(v.num_floats());
  w.vectors_ = AlignedBuffer<float>(num_floats);
  float* floats = w.vectors_.data();
  std::vector<std::byte> bytes;
  std::vector<ContentHash> hashes;
  for (const Vector& v : vectors_) {
    const std::size_t size = v.num_floats();
    bytes.resize(v.source->tensor.data.size());
    OCTAVO_TRY_VOID(source_.read(v.source->offset, bytes));
    hashes.push_back(hash_of(bytes));
    dequantize(v.source->tensor.type, bytes.data(), std::span(floats, size));
    if (v.transposed) transpose(std::span(floats, size), to_size(v.source->tensor.cols));
    *v.target = floats;
    floats += vector_floats(size);
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<ContentHash> WeightLoader::pack_matrices(Weights& w, ThreadPool& pool, const RepackProgress& progress) const {
  std::size_t bytes = 0;
  for (const Matrix& m : matrices_) bytes += to_size(m.count) * m.packed_bytes_of_one();
  w.matrices_ = AlignedBuffer<std::uint8_t>::with_huge_pages(bytes);
  std::uint8_t* panels = w.matrices_.data();
  std::vector<RepackJob> jobs;
  for (const Matrix& m : matrices_) {
    m.target->panels = panels;
    for (int i = 0; i < m.count; ++i, panels += m.packed_bytes_of_one())
      jobs.push_back(
          {.tensor = m.source, .first_row = i * m.target->rows, .num_rows = m.target->rows, .panels = panels});
  }
  return repack(std::move(jobs), source_, pool, progress);
}

Result<ContentHash> WeightLoader::map_matrices(Weights& w) const {
  const SourceFiles& files = source_.files();
  std::vector<ContentHash> hashes = {{files.bytes, static_cast<std::uint64_t>(files.modified_ns)}};
  std::array<std::byte, kSampleBytes> sample;
  for (const Matrix& m : matrices_) {
    m.target->file = m.source->tensor.data.data();
    w.mapped_bytes_ += m.source->tensor.data.size();
    w.largest_panel_bytes_ = std::max(w.largest_panel_bytes_, panel_bytes(m.target->type, m.target->cols));
    const std::span<std::byte> first = std::span(sample).first(std::min(sample.size(), m.source->tensor.data.size()));
    OCTAVO_TRY_VOID(source_.read(m.source->offset, first));
    hashes.push_back(hash_of(first));
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<Weights> Weights::load(const ModelSource& source, const ModelConfig& config, bool repack, ThreadPool& pool,
                              const RepackProgress& progress) {
  Weights weights;
  WeightLoader loader(source, config);
  OCTAVO_TRY_VOID(loader.list(weights));
  OCTAVO_TRY(const ContentHash vectors, loader.load_vectors(weights));
  OCTAVO_TRY(const ContentHash matrices,
             repack ? loader.pack_matrices(weights, pool, progress) : loader.map_matrices(weights));
  std::vector<ContentHash> parts;
  for (const std::span<const std::byte> head : source.heads()) parts.push_back(hash_of(head));
  parts.insert(parts.end(), {vectors, matrices});
  weights.content_hash_ = hash_of(std::as_bytes(std::span(parts)));
  if (config.tied_output) weights.output = weights.embedding;
  return weights;
}

std::uint64_t Weights::bytes_per_token() const {
  const bool tied = output.panels == embedding.panels && output.file == embedding.file;
  const auto unread_rows = [](const WeightMatrix& w) {
    return w.rows == 0 ? 0 : w.bytes() - w.bytes() / static_cast<std::uint64_t>(w.rows);
  };
  std::uint64_t unread = unread_rows(per_layer.table);
  if (!tied) unread += unread_rows(embedding);
  for (const LayerWeights& layer : layers)
    if (const auto* experts = std::get_if<ExpertsFfnWeights>(&layer.feed_forward))
      unread += to_size(experts->gate.count - experts->num_chosen) * experts->bytes_of_one();
  return total_bytes() - unread;
}

PanelScratch Weights::make_scratch(int num_threads) const {
  return mapped_bytes_ == 0 ? PanelScratch() : PanelScratch(largest_panel_bytes_, num_threads);
}

}  // namespace octavo
