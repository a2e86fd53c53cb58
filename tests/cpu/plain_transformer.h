// A transformer computed plainly: one sequence, all rows, float64, loops over the specs of its layers and nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

#include "cpu/weights.h"

namespace octavo::test {

class PlainTransformer {
 public:
  using Row = std::vector<double>;
  using Rows = std::vector<Row>;

  /// Weights are those of a file in F32 that was not repacked. All must outlive it.
  PlainTransformer(const ModelConfig& config, const Weights& weights) : config_(config), weights_(weights) {}

  /// [tokens][vocab_size]
  Rows logits(const std::vector<std::int32_t>& tokens) {
    Rows out;
    for (const Row& row : rows_of(tokens))
      out.push_back(product(weights_.output, input(row, weights_.output_norm, weights_.output_norm_bias)));
    for (Row& row : out) add_bias(row, weights_.output_bias);
    for (Row& row : out) scale(row, config_.logit_scale);
    for (Row& row : out)
      for (double& value : row) value = capped(value, config_.logit_soft_cap);
    return out;
  }

  /// Logits of `count` guesses of the draft head behind `tokens`, each token the likeliest, [count][vocab_size].
  Rows guesses(std::vector<std::int32_t> tokens, int count) {
    const int head = config_.num_layers();
    const auto& w = weights_.draft_head;
    Rows before = {Row(static_cast<std::size_t>(config_.width), 0.0)};  // the hidden row in front of each token
    for (const Row& row : rows_of({tokens.begin(), tokens.end() - 1}))
      before.push_back(norm(row, weights_.output_norm));
    Rows out;
    for (int i = 0; i < count; ++i) {
      Rows x;
      for (std::size_t at = 0; at < tokens.size(); ++at) {
        Row pair = norm(row_of(w.embedding, tokens[at]), w.embedding_norm);
        const Row hidden = norm(before[at], w.hidden_norm);
        pair.insert(pair.end(), hidden.begin(), hidden.end());
        x.push_back(product(w.projection, pair));
      }
      keys_.clear();
      values_.clear();
      layer(head, x);
      before.push_back(norm(x.back(), w.output_norm));
      out.push_back(product(w.output, before.back()));
      tokens.push_back(static_cast<std::int32_t>(std::ranges::max_element(out.back()) - out.back().begin()));
    }
    return out;
  }

  /// Results of layer `index`'s mixer for rows of the residual stream, all from position 0 on. A layer that is borrowed
  /// from comes first.
  Rows mixed(int index, const Rows& x) {
    const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
    Rows out = mixed_by_first(index, x);
    if (!config_.layer(index).beside) return out;
    const Rows beside = scanned(*config_.layer(index).beside, w, w.beside, x);
    for (std::size_t i = 0; i < out.size(); ++i) add(out[i], beside[i]);
    return out;
  }

 private:
  /// The same of the first mixer, where there are two.
  Rows mixed_by_first(int index, const Rows& x) {
    const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
    if (const DeltaSpec* delta = config_.layer(index).delta()) return recurred(*delta, w, x);
    if (const ShortConvSpec* spec = config_.layer(index).short_conv()) return convolved(*spec, w, x);
    if (const auto* spec = std::get_if<MambaSpec>(&config_.layer(index).mixer))
      return scanned(*spec, w, std::get<MambaWeights>(w.mixer), x);
    const AttentionSpec& spec = *config_.layer(index).attention();
    if (spec.latent) return mixed_by_latent(spec, w, x);
    const auto& a = std::get<AttentionWeights>(w.mixer);
    keys_.resize(weights_.layers.size());
    values_.resize(weights_.layers.size());
    Rows& k = keys_[static_cast<std::size_t>(spec.borrows_from.value_or(index))];
    Rows& v = values_[static_cast<std::size_t>(spec.borrows_from.value_or(index))];
    for (std::size_t position = 0; position < x.size() && !spec.borrows_from; ++position) {
      const Row h = input(x[position], w.mixer_norm, w.mixer_norm_bias);
      k.push_back(product(a.k, h));
      add_bias(k.back(), a.k_bias);
      v.push_back(spec.v_is_k ? k.back() : product(a.v, h));
      add_bias(v.back(), a.v_bias);
      if (spec.v_norm) for_parts(v.back(), spec.v_dim(), [&](const Row& head) { return norm(head, nullptr); });
      prepare_heads(spec, a.k_norm, position, k.back());
    }
    Rows out;
    for (std::size_t position = 0; position < x.size(); ++position) {
      const Row h = input(x[position], w.mixer_norm, w.mixer_norm_bias);
      Row q = product(a.q, h), gates;
      add_bias(q, a.q_bias);
      if (spec.gated_output) gates = take_gates(spec, q);
      prepare_heads(spec, a.q_norm, position, q);
      Row attended = attend(spec, a.sinks, q, k, v, position);
      for (std::size_t i = 0; i < gates.size(); ++i) attended[i] *= sigmoid(gates[i]);
      if (spec.output_gate) gate(*spec.output_gate, product(a.gate, h), attended);
      out.push_back(product(a.o, attended));
      add_bias(out.back(), a.o_bias);
    }
    return out;
  }

  /// The residual stream behind the last layer, all rows from position 0 on.
  Rows rows_of(const std::vector<std::int32_t>& tokens) {
    keys_.clear();
    values_.clear();
    Rows x;
    for (const std::int32_t token : tokens) {
      x.push_back(row_of(weights_.embedding, token));
      scale(x.back(), config_.embedding_scale);
      if (config_.normalizes_embedding) x.back() = norm(x.back(), nullptr);
    }
    inputs_.clear();
    for (std::size_t i = 0; i < tokens.size() && config_.per_layer_width > 0; ++i)
      inputs_.push_back(per_layer_inputs(tokens[i], x[i]));
    for (int i = 0; i < config_.num_layers(); ++i) layer(i, x);
    return x;
  }

  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  static void gate(const OutputGate& gate, const Row& products, Row& attended) {
    for (std::size_t i = 0; i < attended.size(); ++i) {
      const double x = products[i * products.size() / attended.size()];
      attended[i] *= gate.function == GateFunction::kSigmoid ? sigmoid(x) : std::log1p(std::exp(x));
    }
  }

  /// Of heads of q, each with its gate behind it: leaves the heads and gives the gates.
  static Row take_gates(const AttentionSpec& spec, Row& q) {
    Row heads, gates;
    for (std::size_t i = 0; i < q.size(); ++i)
      (i / static_cast<std::size_t>(spec.head_dim) % 2 == 0 ? heads : gates).push_back(q[i]);
    q = heads;
    return gates;
  }

  /// Of each value head, before their functions (fix_query_key_value_ordering of Qwen3NextGatedDeltaNet).
  static std::pair<Row, Row> betas_and_decays(const DeltaSpec& spec, const DeltaWeights& d, const Row& h) {
    if (!spec.by_key_head) return {product(d.beta, h), product(d.decay, h)};
    const Row both = product(d.decay, h);
    const auto share = spec.num_value_heads / spec.num_key_heads;
    std::pair<Row, Row> apart;
    for (auto at = both.begin(); at != both.end(); at += 2 * share) {
      apart.first.insert(apart.first.end(), at, at + share);
      apart.second.insert(apart.second.end(), at + share, at + 2 * share);
    }
    return apart;
  }

  /// Results of multi-head latent attention, all rows from position 0 on: keys and values of each head are made of the
  /// latent (DeepseekV2Attention of transformers).
  Rows mixed_by_latent(const AttentionSpec& spec, const LayerWeights& w, const Rows& x) const {
    const LatentSpec& l = *spec.latent;
    const auto& a = std::get<AttentionWeights>(w.mixer);
    AttentionSpec of_heads = spec, of_turned = spec;
    of_heads.latent = of_turned.latent = {};
    of_heads.num_kv_heads = spec.num_heads;
    of_heads.head_dim = l.q_dim();
    of_heads.value_dim = l.value_dim;
    of_turned.head_dim = l.rotated_dim;
    const auto turn = [&](std::size_t position, Row& row, int first) {
      Row part(row.begin() + first, row.begin() + first + l.rotated_dim);
      prepare_heads(of_turned, nullptr, position, part);
      std::ranges::copy(part, row.begin() + first);
    };
    Rows k, v, out;
    for (std::size_t position = 0; position < x.size(); ++position) {
      const Row h = input(x[position], w.mixer_norm, w.mixer_norm_bias);
      Row latent = product(a.k, h);
      turn(position, latent, l.rank);
      const Row shared(latent.begin() + l.rank, latent.end());
      latent = norm(Row(latent.begin(), latent.begin() + l.rank), a.latent.norm);
      k.emplace_back();
      v.emplace_back();
      for (int head = 0; head < spec.num_heads; ++head) {
        Row key(static_cast<std::size_t>(l.plain_dim), 0.0);
        for (std::int64_t r = 0; r < l.rank; ++r) {
          const Row weights = row_of(a.latent.keys.of(head), r);
          for (std::size_t i = 0; i < key.size(); ++i) key[i] += weights[i] * latent[static_cast<std::size_t>(r)];
        }
        key.insert(key.end(), shared.begin(), shared.end());
        k.back().insert(k.back().end(), key.begin(), key.end());
        const Row value = product(a.latent.values.of(head), latent);
        v.back().insert(v.back().end(), value.begin(), value.end());
      }
      Row q = product(a.q, l.q_rank > 0 ? norm(product(a.latent.q_down, h), a.latent.q_norm) : h);
      for (int head = 0; head < spec.num_heads; ++head) turn(position, q, head * l.q_dim() + l.plain_dim);
      out.push_back(product(a.o, attend(of_heads, nullptr, q, k, v, position)));
    }
    return out;
  }

  /// Results of a gated delta net, all rows from position 0 on.
  Rows recurred(const DeltaSpec& spec, const LayerWeights& w, const Rows& x) const {
    const auto& d = std::get<DeltaWeights>(w.mixer);
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    const std::size_t key_dim = at(spec.key_dim), value_dim = at(spec.value_dim);
    std::vector<Rows> states(at(spec.num_value_heads), Rows(key_dim, Row(value_dim, 0.0)));
    Rows inputs, out;
    for (const Row& row : x) {
      const Row h = norm(row, w.mixer_norm);
      inputs.push_back(product(d.qkv, h));
      const Row mixed = convolved_last(inputs, d.taps, nullptr, spec.taps);
      const auto [beta, alpha] = betas_and_decays(spec, d, h);
      const Row gate = product(d.gate, h);
      Row result;
      for (std::size_t head = 0; head < states.size(); ++head) {
        const std::size_t share = at(spec.num_value_heads / spec.num_key_heads);
        const std::size_t q_at = (spec.by_key_head ? head / share : head % at(spec.num_key_heads)) * key_dim;
        const Row q = unit(mixed, q_at, key_dim), k = unit(mixed, q_at + at(spec.key_width()), key_dim);
        const double step = std::log1p(std::exp(alpha[head] + static_cast<double>(d.decay_bias[head])));
        const double decay = std::exp(static_cast<double>(d.decay_scale[head]) * step);
        Row o(value_dim, 0.0);
        for (std::size_t j = 0; j < value_dim; ++j) {
          double found = 0;
          for (std::size_t i = 0; i < key_dim; ++i) found += (states[head][i][j] *= decay) * k[i];
          const double value = mixed[at(2 * spec.key_width()) + head * value_dim + j];
          for (std::size_t i = 0; i < key_dim; ++i) {
            states[head][i][j] += k[i] * sigmoid(beta[head]) * (value - found);
            o[j] += states[head][i][j] * q[i] / std::sqrt(static_cast<double>(key_dim));
          }
        }
        o = norm(o, d.norm);
        result.insert(result.end(), o.begin(), o.end());
      }
      for (std::size_t i = 0; i < result.size(); ++i) result[i] *= gate[i] * sigmoid(gate[i]);
      out.push_back(product(d.output, result));
    }
    return out;
  }
  /// The last of the rows in front of the taps' sums, each channel on its own, activated.
  static Row convolved_last(const Rows& inputs, const float* taps, const float* bias, int num_taps) {
    Row mixed(inputs.back().size(), 0.0);
    for (std::size_t c = 0; c < mixed.size(); ++c) {
      if (bias != nullptr) mixed[c] = static_cast<double>(bias[c]);
      for (std::size_t back = 0; back < static_cast<std::size_t>(num_taps) && back < inputs.size(); ++back)
        mixed[c] += inputs[inputs.size() - 1 - back][c] *
                    static_cast<double>(taps[(static_cast<std::size_t>(num_taps) - 1 - back) * mixed.size() + c]);
      mixed[c] *= sigmoid(mixed[c]);
    }
    return mixed;
  }
  /// Results of Mamba-2, all rows from position 0 on.
  Rows scanned(const MambaSpec& spec, const LayerWeights& w, const MambaWeights& m, const Rows& x) const {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    const std::size_t dim = at(spec.head_dim), size = at(spec.state_dim), inner = at(spec.inner_width());
    std::vector<Rows> states(at(spec.num_heads), Rows(dim, Row(size, 0.0)));
    Rows inputs, out;
    for (const Row& row : x) {
      const Row h = norm(row, w.mixer_norm), gate = product(m.gate, h), steps = product(m.step, h);
      inputs.push_back(product(m.input, h));
      const Row mixed = convolved_last(inputs, m.taps, m.taps_bias, spec.taps);
      Row result;
      for (std::size_t head = 0; head < states.size(); ++head) {
        const double step = std::log1p(std::exp(steps[head] + static_cast<double>(m.step_bias[head])));
        const double decay = std::exp(step * static_cast<double>(m.decay_rate[head]));
        const std::size_t b = inner + head * at(spec.num_groups) / states.size() * size,
                          c = b + at(spec.num_groups) * size;
        for (std::size_t i = 0; i < dim; ++i) {
          const double value = mixed[head * dim + i];
          double y = static_cast<double>(m.skip[head]) * value;
          for (std::size_t n = 0; n < size; ++n) {
            states[head][i][n] = decay * states[head][i][n] + step * value * mixed[b + n];
            y += states[head][i][n] * mixed[c + n];
          }
          result.push_back(y * gate[head * dim + i] * sigmoid(gate[head * dim + i]));
        }
      }
      const std::size_t part = at(spec.norm_width());
      for (std::size_t first = 0; first < inner && m.norm != nullptr; first += part) {
        const auto begin = result.begin() + static_cast<std::ptrdiff_t>(first);
        const Row normed = norm(Row(begin, begin + static_cast<std::ptrdiff_t>(part)), m.norm + first);
        std::ranges::copy(normed, begin);
      }
      out.push_back(product(m.output, result));
    }
    return out;
  }
  /// Results of a short convolution between two gates, all rows from position 0 on.
  Rows convolved(const ShortConvSpec& spec, const LayerWeights& w, const Rows& x) const {
    const auto& c = std::get<ShortConvWeights>(w.mixer);
    Rows inputs, out;
    for (const Row& row : x) {
      const Row h = norm(row, w.mixer_norm), in_gate = product(c.in_gate, h);
      Row mixed = product(c.out_gate, h);
      inputs.push_back(product(c.value, h));
      for (std::size_t i = 0; i < mixed.size(); ++i) {
        inputs.back()[i] *= in_gate[i];
        double sum = 0;
        for (int back = 0; back < spec.taps && static_cast<std::size_t>(back) < inputs.size(); ++back)
          sum += inputs[inputs.size() - 1 - static_cast<std::size_t>(back)][i] *
                 static_cast<double>(c.taps[static_cast<std::size_t>(spec.taps - 1 - back) * mixed.size() + i]);
        mixed[i] *= sum;
      }
      out.push_back(product(c.output, mixed));
    }
    return out;
  }
  static Row unit(const Row& x, std::size_t begin, std::size_t size) {
    Row part(x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(begin + size));
    const double squares = std::inner_product(part.begin(), part.end(), part.begin(), 0.0);
    for (double& value : part) value /= std::sqrt(squares + 1e-6);
    return part;
  }

  static Row row_of(const WeightMatrix& w, std::int64_t row) {
    std::vector<float> floats(static_cast<std::size_t>(w.cols));
    std::memcpy(floats.data(), w.file + static_cast<std::size_t>(row * w.cols) * sizeof(float), floats.size() * 4);
    return {floats.begin(), floats.end()};
  }
  static Row product(const WeightMatrix& w, const Row& x) {
    Row y;
    for (std::int64_t i = 0; i < w.rows; ++i) {
      const Row weights = row_of(w, i);
      y.push_back(std::inner_product(x.begin(), x.end(), weights.begin(), 0.0));
    }
    for (double& value : y) value *= w.scale == nullptr ? 1 : static_cast<double>(*w.scale);
    return y;
  }
  /// A part's input: a row as it is where there is no norm.
  Row input(const Row& x, const float* weight, const float* bias) const {
    Row h = weight == nullptr ? x : norm(x, weight);
    add_bias(h, bias);
    return h;
  }
  Row norm(const Row& x, const float* weight) const {
    return norm(x, weight, config_.norm == NormKind::kLayer && x.size() == static_cast<std::size_t>(config_.width),
                config_.norm_epsilon);
  }
  static Row norm(Row x, const float* weight, bool is_layer_norm, float epsilon) {
    if (is_layer_norm) {
      const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
      for (double& value : x) value -= mean;
    }
    const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    const double root = std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(epsilon));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = x[i] / root * (weight == nullptr ? 1 : static_cast<double>(weight[i]));
    return x;
  }
  /// Each part of `size` becomes what `change` makes of it.
  template <class Change>
  static void for_parts(Row& x, int size, const Change& change) {
    for (auto begin = x.begin(); begin != x.end(); begin += size)
      std::ranges::copy(change(Row(begin, begin + size)), begin);
  }
  static void add(Row& x, const Row& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  static void scale(Row& x, float factor) {
    for (double& value : x) value *= static_cast<double>(factor);
  }
  static void add_bias(Row& x, const float* bias) {
    for (std::size_t i = 0; bias != nullptr && i < x.size(); ++i) x[i] += static_cast<double>(bias[i]);
  }

  /// Each head normed, if there is a norm, and turned by its position.
  void prepare_heads(const AttentionSpec& spec, const float* head_norm, std::size_t position, Row& heads) const {
    const auto dim = static_cast<std::size_t>(spec.head_dim),
               half = static_cast<std::size_t>(spec.rope.num_rotated / 2);
    if (head_norm != nullptr && spec.qk_norm_is_whole) heads = norm(heads, head_norm);
    const bool of_each = (head_norm != nullptr || spec.qk_norm_is_plain) && !spec.qk_norm_is_whole;
    for (std::size_t begin = 0; begin < heads.size(); begin += dim) {
      Row head(heads.begin() + static_cast<std::ptrdiff_t>(begin),
               heads.begin() + static_cast<std::ptrdiff_t>(begin + dim));
      const float* of_head = head_norm + (spec.qk_norm_by_head ? begin : 0);
      const auto normed = [&] {
        return norm(head, of_head, spec.qk_norm_by_head && config_.norm == NormKind::kLayer, config_.norm_epsilon);
      };
      if (of_each && !spec.qk_norm_after_rope) head = normed();
      for (std::size_t i = 0; i < half; ++i) {
        const bool neighbours = spec.rope.layout == RopeLayout::kNeighbours;
        const std::size_t a = neighbours ? 2 * i : i, b = neighbours ? 2 * i + 1 : i + half;
        double frequency = std::pow(spec.rope.base, -static_cast<double>(i) / static_cast<double>(half));
        if (spec.rope.factors != Presence::kAbsent && weights_.rope_factors != nullptr)
          frequency /= static_cast<double>(weights_.rope_factors[i]);
        const double angle = static_cast<double>(position) / spec.rope.scaling.divisor * frequency;
        const double first = head[a], second = head[b];
        const double cosine = spec.rope.scaling.magnitude * std::cos(angle);
        const double sine = spec.rope.scaling.magnitude * std::sin(angle);
        head[a] = first * cosine - second * sine;
        head[b] = first * sine + second * cosine;
      }
      if (of_each && spec.qk_norm_after_rope) head = normed();
      std::ranges::copy(head, heads.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }

  static double capped(double x, float cap) {
    const auto most = static_cast<double>(cap);
    return cap == 0 ? x : most * std::tanh(x / most);
  }

  static double score_scale(const AttentionSpec& spec, std::size_t position) {
    const auto scale = static_cast<double>(spec.scale);
    if (!spec.temperature) return scale;
    const double steps = std::floor(static_cast<double>(position + static_cast<std::size_t>(spec.temperature->offset)) /
                                    spec.temperature->length);
    return scale * (1 + spec.temperature->slope * std::log(1 + steps));
  }

  static Row attend(const AttentionSpec& spec, const float* sinks, const Row& q, const Rows& k, const Rows& v,
                    std::size_t position) {
    const auto dim = static_cast<std::size_t>(spec.head_dim), v_dim = static_cast<std::size_t>(spec.v_dim());
    const auto shared = static_cast<std::size_t>(spec.num_heads / spec.num_kv_heads);
    const auto window = static_cast<std::size_t>(spec.window);
    const std::size_t first = spec.is_chunked                    ? position / window * window
                              : window == 0 || position < window ? 0
                                                                 : position - window + 1;
    Row out(static_cast<std::size_t>(spec.result_width()), 0.0);
    for (std::size_t head = 0; head < static_cast<std::size_t>(spec.num_heads); ++head) {
      const std::size_t at = head * dim, kv_at = head / shared * dim;
      Row scores;
      for (std::size_t j = first; j <= position; ++j) {
        double score = 0;
        for (std::size_t d = 0; d < dim; ++d) score += q[at + d] * k[j][kv_at + d];
        scores.push_back(std::exp(capped(score * score_scale(spec, position), spec.soft_cap)));
      }
      const double sink = sinks == nullptr ? 0 : std::exp(static_cast<double>(sinks[head]));
      const double sum = std::accumulate(scores.begin(), scores.end(), sink);
      for (std::size_t j = first; j <= position; ++j)
        for (std::size_t d = 0; d < v_dim; ++d)
          out[head * v_dim + d] += scores[j - first] / sum * v[j][head / shared * v_dim + d];
    }
    return out;
  }

  static double activated(Activation activation, double x, double up, float limit = 0) {
    const auto most = static_cast<double>(limit);
    if (limit > 0) return std::min(x * sigmoid(x), most) * std::clamp(up, -most, most);  // Step3p7MLP of transformers
    if (activation == Activation::kSilu) return x * sigmoid(x) * up;
    if (activation == Activation::kSquaredRelu) return std::max(x, 0.0) * std::max(x, 0.0) * up;
    if (activation == Activation::kGelu) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)) * up;
    if (activation == Activation::kGeluTanh)
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) * up;
    x = std::min(x, 7.0);  // GptOssExperts of transformers
    return x * sigmoid(1.702 * x) * (std::clamp(up, -7.0, 7.0) + 1);
  }

  void add_result(const float* post_norm, const Row& result, Row& x) const {
    Row normed = post_norm == nullptr
                     ? result
                     : norm(result, post_norm, config_.norm == NormKind::kLayer, config_.epsilon_of_results());
    scale(normed, config_.residual_scale);
    add(x, normed);
  }

  void layer(int index, Rows& x) {
    const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
    const LayerSpec& spec = config_.layer(index);
    const Rows mixed = spec.has_mixer() ? this->mixed(index, x) : Rows(x.size(), Row(x[0].size(), 0.0));
    for (std::size_t position = 0; position < x.size(); ++position) {
      const Row& m = mixed[position];
      const Row before = x[position];
      add_result(w.post_mixer_norm, m, x[position]);
      const Row& read = spec.is_parallel ? before : x[position];
      add_result(w.post_ffn_norm, spec.has_feed_forward() ? feed_forward(index, read) : Row(m.size(), 0.0),
                 x[position]);
      if (config_.per_layer_width > 0) add(x[position], of_own_embedding(index, inputs_[position], x[position]));
      if (w.output_scale != nullptr)
        for (double& value : x[position]) value *= static_cast<double>(*w.output_scale);
      if (spec.ends_pass) x[position] = norm(x[position], weights_.output_norm);
    }
  }

  /// Of a token whose embedding is x, [layers][per_layer_width] (Gemma4TextModel.project_per_layer_inputs of
  /// transformers).
  Row per_layer_inputs(std::int32_t token, const Row& x) const {
    const int width = config_.per_layer_width;
    Row inputs = product(weights_.per_layer.projection, x);
    for (double& value : inputs) value /= std::sqrt(static_cast<double>(config_.width));
    for_parts(inputs, width, [&](const Row& part) { return norm(part, weights_.per_layer.norm); });
    Row own = row_of(weights_.per_layer.table, token);
    for (std::size_t i = 0; i < own.size(); ++i)
      inputs[i] = (inputs[i] + own[i] * std::sqrt(static_cast<double>(width))) / std::numbers::sqrt2;
    return inputs;
  }

  Row of_own_embedding(int index, const Row& inputs, const Row& x) const {
    const PerLayerWeights& w = weights_.layers[static_cast<std::size_t>(index)].per_layer;
    Row gated = product(w.gate, x);
    const std::size_t first = static_cast<std::size_t>(index) * gated.size();
    for (std::size_t i = 0; i < gated.size(); ++i)
      gated[i] = activated(Activation::kGeluTanh, gated[i], inputs[first + i]);
    return norm(product(w.up, gated), w.post_norm);
  }

  static double xielu(const XieluNumbers& numbers, double x) {
    const auto above = static_cast<double>(numbers.above), below = static_cast<double>(numbers.below);
    const auto slope = static_cast<double>(numbers.slope), most = static_cast<double>(numbers.most);
    return (x > 0 ? above * x * x : below * (std::expm1(std::min(x, most)) - x)) + slope * x;
  }

  static Row dense(const DenseFfnSpec& spec, const DenseFfnWeights& w, const Row& h) {
    if (spec.activation != Activation::kXielu) return gated_product(w, spec.activation, h, spec.limit);
    Row gated = product(w.gate, h);
    for (double& value : gated) value = xielu(spec.xielu, value);
    return product(w.down, gated);
  }

  static Row gated_product(const DenseFfnWeights& w, Activation activation, const Row& h, float limit) {
    Row gated = product(w.gate, h), up = w.up.rows > 0 ? product(w.up, h) : Row(gated.size(), 1.0);
    add_bias(gated, w.gate_bias);
    add_bias(up, w.up_bias);
    for (std::size_t i = 0; i < gated.size(); ++i) gated[i] = activated(activation, gated[i], up[i], limit);
    Row out = product(w.down, gated);
    add_bias(out, w.down_bias);
    return out;
  }

  Row feed_forward(int index, const Row& x) const {
    const LayerWeights& layer = weights_.layers[static_cast<std::size_t>(index)];
    const bool is_parallel = config_.layer(index).is_parallel;
    const Row h = input(x, is_parallel ? layer.mixer_norm : layer.ffn_norm,
                        is_parallel ? layer.mixer_norm_bias : layer.ffn_norm_bias);
    const auto* experts = std::get_if<ExpertsFfnSpec>(&config_.layer(index).feed_forward);
    if (experts == nullptr)
      return dense(std::get<DenseFfnSpec>(config_.layer(index).feed_forward),
                   std::get<DenseFfnWeights>(layer.feed_forward), h);
    const ExpertsFfnWeights& w = std::get<ExpertsFfnWeights>(layer.feed_forward);
    Row out = experts->own_norms
                  ? norm(mixture(*experts, w, norm(x, w.router_norm), norm(x, w.experts_norm)), w.post_experts_norm)
                  : mixture(*experts, w, h, h);
    if (experts->shared_width == 0) return out;
    Row shared = gated_product(w.shared, experts->activation, h, experts->shared_limit);
    if (experts->shared_is_gated)  // Qwen3_5MoeSparseMoeBlock
      for (double& value : shared) value *= sigmoid(product(w.shared_gate, h)[0]);
    add(out, experts->own_norms ? norm(shared, w.post_shared_norm) : shared);
    scale(out, experts->sum_scale);
    return out;
  }

  /// The experts of a row with their weights: DeepseekV3TopkRouter and Qwen3MoeSparseMoeBlock of transformers.
  static std::vector<std::pair<int, double>> choose(const RouterSpec& spec, const ExpertsFfnWeights& w, Row scores,
                                                    int num_chosen) {
    double all = 0;
    for (double& p : scores) all += p = spec.gate == RouterSpec::Gate::kSigmoid ? sigmoid(p) : std::exp(p);
    if (spec.gate == RouterSpec::Gate::kSoftmax)
      for (double& p : scores) p /= all;
    Row worths = scores;
    add_bias(worths, w.choice_bias);
    const std::size_t of_group = worths.size() / static_cast<std::size_t>(spec.num_groups);
    std::vector<std::pair<double, std::size_t>> groups;
    for (std::size_t first = 0; first < worths.size(); first += of_group) {
      Row group(worths.begin() + static_cast<std::ptrdiff_t>(first),
                worths.begin() + static_cast<std::ptrdiff_t>(first + of_group));
      std::ranges::sort(group, std::greater());
      groups.emplace_back(-(group[0] + (of_group > 1 ? group[1] : 0)), first);
    }
    std::ranges::sort(groups);
    std::vector<int> order;
    for (std::size_t i = 0; i < static_cast<std::size_t>(spec.num_groups_chosen); ++i)
      for (std::size_t j = 0; j < of_group; ++j) order.push_back(static_cast<int>(groups[i].second + j));
    std::ranges::sort(order, std::greater(), [&](int i) { return worths[static_cast<std::size_t>(i)]; });
    order.resize(static_cast<std::size_t>(num_chosen));
    double sum = spec.sums_to_one ? 0 : 1;
    for (const int i : order) sum += spec.sums_to_one ? scores[static_cast<std::size_t>(i)] : 0;
    std::vector<std::pair<int, double>> chosen;
    for (const int i : order)
      chosen.emplace_back(i, scores[static_cast<std::size_t>(i)] / sum * static_cast<double>(spec.weights_scale));
    return chosen;
  }

  static Row mixture(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, const Row& of_router, const Row& h) {
    Row scores = product(w.router, of_router);
    add_bias(scores, w.router_bias);
    const Row row = spec.latent_width > 0 ? product(w.latent_down, h) : h;  // NemotronHMoE
    Row out(row.size(), 0.0);
    for (const auto& [i, chosen] : choose(spec.router, w, std::move(scores), spec.num_chosen)) {
      Row read = row;
      if (spec.weighs_inputs)  // Llama4TextMoe
        for (double& x : read) x *= chosen;
      const double weight = spec.weighs_inputs ? 1 : chosen;
      Row result = gated_product({.gate = w.gate.of(i),
                                  .up = w.up.of(i),
                                  .down = w.down.of(i),
                                  .gate_bias = w.gate.bias_of(i),
                                  .up_bias = w.up.bias_of(i),
                                  .down_bias = w.down.bias_of(i)},
                                 spec.activation, read, spec.limit);
      for (double& x : result) x *= weight * static_cast<double>(result_scale_of(w, i));
      add(out, result);
    }
    return spec.latent_width > 0 ? product(w.latent_up, out) : out;
  }

  const ModelConfig& config_;
  const Weights& weights_;
  std::vector<Rows> keys_, values_;  // [layers][positions]
  Rows inputs_;                      // [positions][layers][per_layer_width]
};

}  // namespace octavo::test
