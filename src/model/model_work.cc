#include "model/model_work.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/model_state.h"
#include "model/visit_matrices.h"
#include "model/weight_need.h"

namespace octavo {
namespace {

void add(const ListedMatrix& matrix, MatrixWork& work) {
  const auto weights = static_cast<std::uint64_t>(matrix.rows) * static_cast<std::uint64_t>(matrix.cols);
  (matrix.is_quantized() ? work.int8_multiply_adds : work.float_multiply_adds) += weights;
  work.bytes += *dtype_bytes(matrix.type, weights);
}

/// Bytes of one expert as they are read, its biases included.
std::uint64_t bytes_of_an_expert(const WeightList& list, const ExpertsFfnTensors<ListedForm>& w, bool is_packed) {
  std::uint64_t bytes = 0;
  for (const ExpertsIndex* matrices : {&w.gate, &w.up, &w.down}) {
    if (!is_present(matrices->index)) continue;
    const ListedMatrix& m = list.matrix(matrices->index);
    bytes += is_packed ? packed_bytes(m.type, m.rows, m.cols) : m.bytes_of_one();
    if (is_present(m.bias)) bytes += to_size(m.rows) * sizeof(float);
  }
  return bytes;
}

/// The matrices of the draft head that every row goes through: those that make its keys and values. The others are met
/// by guesses alone.
void add_draft_head(const ModelConfig& config, const WeightList& weights, MatrixWork& work) {
  add(weights.matrix(weights.tensors.draft_head.projection), work);
  visit_matrices(weights.tensors.layers[to_size(config.num_layers())], [&](WeightIndex matrix, bool of_state) {
    if (of_state) add(weights.matrix(matrix), work);
  });
}

/// Matrices of layers that all rows go through, or the others.
MatrixWork matrices_of_layers(const ModelConfig& config, const WeightList& weights, bool all_rows) {
  const int last = config.last_layer_with_state();
  MatrixWork work;
  for (int i = 0; i < config.num_layers(); ++i)
    visit_matrices(weights.tensors.layers[to_size(i)], [&](WeightIndex matrix, bool of_state) {
      const bool of_all = i < last || (i == last && of_state);
      if (of_all == all_rows) add(weights.matrix(matrix), work);
    });
  if (config.has_draft_head && all_rows) add_draft_head(config, weights, work);
  return work;
}

/// The work of `all` whose key is that of `like`, which is added where there is none.
template <class Work, class Key>
Work& same_or_added(std::vector<Work>& all, const Work& like, const Key& key) {
  const auto same = std::ranges::find(all, key(like), key);
  return same != all.end() ? *same : all.emplace_back(like);
}

std::tuple<int, bool, bool> key_of_attention(const AttentionWork& work) {
  return {work.window, work.is_chunked, work.only_logit_rows};
}

std::tuple<int, int, bool> key_of_experts(const ExpertsWork& work) {
  return {work.num_experts, work.num_chosen, work.only_logit_rows};
}

std::uint64_t multiply_adds_of_state(const DeltaSpec& spec) {
  const auto state = static_cast<std::uint64_t>(spec.key_dim) * static_cast<std::uint64_t>(spec.value_width());
  return 3 * state;  // along the key, the change, along the query
}

std::uint64_t multiply_adds_of_state(const ShortConvSpec& spec) {
  return to_size(spec.taps + 2) * to_size(spec.width);  // taps, and the gates on both sides
}

std::uint64_t multiply_adds_of_state(const MambaSpec& spec) {
  return 3 * to_size(spec.state_dim) * to_size(spec.inner_width());  // the decay, what is added, along c
}

/// Tokens that the rows in front of position `end` see, added up: 1, 2, 3 and so on, up to the window, where they stay
/// or begin anew.
double tokens_seen_before(const AttentionWork& layers, int end) {
  const auto growing = [](double rows) { return rows * (rows + 1) / 2; };
  const int window = layers.window;
  if (window == 0 || end <= window) return growing(end);
  if (layers.is_chunked) return end / window * growing(window) + growing(end % window);
  return growing(window) + (static_cast<double>(end) - window) * window;
}

/// A row sees one thing, the state, which is read and written.
template <class Spec>
void add_recurrence(const Spec& spec, std::vector<AttentionWork>& all) {
  AttentionWork& same = same_or_added(all, AttentionWork{.window = 1}, key_of_attention);
  same.num_layers += 1;
  same.kv_bytes += 2 * spec.state_bytes();
  same.float_multiply_adds += multiply_adds_of_state(spec);
}

}  // namespace

MatrixWork layer_work(const ModelConfig& config, const WeightList& weights) {
  MatrixWork work = matrices_of_layers(config, weights, true);
  const WeightIndex projection = weights.tensors.per_layer.projection;
  if (is_present(projection)) add(weights.matrix(projection), work);
  return work;
}

MatrixWork output_work(const ModelConfig& config, const WeightList& weights) {
  MatrixWork work = matrices_of_layers(config, weights, false);
  if (is_present(weights.tensors.output)) add(weights.matrix(weights.tensors.output), work);
  return work;
}

std::vector<AttentionWork> attention_work(const ModelConfig& config, KvType kv_type) {
  const int last = config.last_layer_with_state();
  std::vector<AttentionWork> all;
  for (int i = 0; i < config.num_layers(); ++i) {
    const AttentionSpec* attention = config.layer(i).attention();
    if (const DeltaSpec* delta = config.layer(i).delta()) add_recurrence(*delta, all);
    if (const ShortConvSpec* convolution = config.layer(i).short_conv()) add_recurrence(*convolution, all);
    if (const MambaSpec* mamba = config.layer(i).mamba()) add_recurrence(*mamba, all);
    if (attention == nullptr) continue;
    const AttentionWork like{
        .window = attention->window, .is_chunked = attention->is_chunked, .only_logit_rows = i >= last};
    AttentionWork& same = same_or_added(all, like, key_of_attention);
    same.num_layers += 1;
    same.kv_bytes += kv_bytes_of_token(*attention->kv_shape(), kv_type);
    same.float_multiply_adds +=  // scores, and sums of values
        static_cast<std::uint64_t>(attention->q_width()) + static_cast<std::uint64_t>(attention->attended_width());
  }
  return all;
}

std::vector<ExpertsWork> experts_work(const ModelConfig& config, const WeightList& weights, bool is_packed) {
  const int last = config.last_layer_with_state();
  std::vector<ExpertsWork> all;
  for (int i = 0; i < config.num_layers(); ++i) {
    const auto* spec = std::get_if<ExpertsFfnSpec>(&config.layer(i).feed_forward);
    if (spec == nullptr) continue;
    const ExpertsWork like{
        .num_experts = spec->num_experts, .num_chosen = spec->num_chosen, .only_logit_rows = i >= last};
    same_or_added(all, like, key_of_experts).bytes += bytes_of_an_expert(
        weights, std::get<ExpertsFfnTensors<ListedForm>>(weights.tensors.layers[to_size(i)].feed_forward), is_packed);
  }
  return all;
}

double distinct_experts(const ExpertsWork& layers, double rows) {
  const double all = layers.num_experts;
  return all * (1 - std::pow(1 - layers.num_chosen / all, rows));
}

ModelWork model_work(const ModelConfig& config, const WeightList& weights, bool is_packed, KvType kv_type) {
  return {.layers = layer_work(config, weights),
          .output = output_work(config, weights),
          .attention = attention_work(config, kv_type),
          .experts = experts_work(config, weights, is_packed)};
}

std::uint64_t weight_bytes_per_token(const WeightList& weights, bool is_packed) {
  const WeightNeed need = weight_need(weights);
  const ModelTensors<ListedForm>& w = weights.tensors;
  const auto unread_rows = [&](WeightIndex index) -> std::uint64_t {
    if (!is_present(index)) return 0;
    const ListedMatrix& m = weights.matrix(index);
    const std::uint64_t bytes = is_packed ? packed_bytes(m.type, m.rows, m.cols) : m.bytes_of_one();
    return bytes - bytes / static_cast<std::uint64_t>(m.rows);
  };
  std::uint64_t unread = unread_rows(w.per_layer.table);
  if (w.output.value != w.embedding.value)
    unread += unread_rows(w.embedding) + unread_rows(w.positions) + unread_rows(w.token_types);
  if (w.draft_head.embedding.value != w.embedding.value) unread += unread_rows(w.draft_head.embedding);
  for (const LayerTensors<ListedForm>& layer : w.layers)
    if (const auto* experts = std::get_if<ExpertsFfnTensors<ListedForm>>(&layer.feed_forward))
      unread += to_size(weights.matrix(experts->gate.index).count - experts->num_chosen) *
                bytes_of_an_expert(weights, *experts, is_packed);
  return need.bytes(is_packed) - unread;
}

RowRange attending_rows(const AttentionWork& layers, RowRange rows, int num_logits) {
  if (!layers.only_logit_rows) return rows;
  return {.first = rows.first + rows.count - num_logits, .count = num_logits};
}

double tokens_seen(const AttentionWork& layers, RowRange rows) {
  return tokens_seen_before(layers, rows.first + rows.count) - tokens_seen_before(layers, rows.first);
}

}  // namespace octavo
