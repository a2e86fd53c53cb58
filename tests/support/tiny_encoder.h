// Encoders of a few thousand random weights: GGUF bytes as llama.cpp's converter writes them, and the vectors that they
// make, computed plainly in float64 from the same tensors by the architecture's name.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/gguf_writer.h"

namespace octavo::test {

class TinyEncoder {
 public:
  using Row = std::vector<double>;
  using Rows = std::vector<Row>;

  static constexpr int kWidth = 64, kHeads = 4, kDim = 16, kFfn = 96, kWords = 80, kContext = 700, kWindow = 32;
  static constexpr int kExperts = 4, kChosen = 2;

  explicit TinyEncoder(std::string arch, int layers = 3, bool ranks = false, DType type = DType::kF32)
      : arch_(std::move(arch)), layers_(layers), ranks_(ranks), type_(type) {
    add_all();
  }

  /// `pooling`: of the file's key; -1: none.
  std::string bytes(int pooling = -1) const {
    GgufWriter writer;
    writer.add("general.architecture", std::string_view(arch_));
    const auto key = [&](const char* suffix, auto value) { writer.add(arch_ + "." + suffix, value); };
    key("block_count", static_cast<std::uint32_t>(layers_));
    key("embedding_length", std::uint32_t{kWidth});
    key("context_length", std::uint32_t{kContext});
    key("feed_forward_length", std::uint32_t{kFfn});
    key("attention.head_count", std::uint32_t{kHeads});
    key("attention.causal", false);
    if (pooling >= 0) key("pooling_type", static_cast<std::uint32_t>(pooling));
    if (is_gemma()) {
      key("attention.layer_norm_rms_epsilon", kEpsilon);
      key("attention.key_length", std::uint32_t{kDim});
      key("attention.value_length", std::uint32_t{kDim});
    } else {
      key("attention.layer_norm_epsilon", kEpsilon);
    }
    if (has_rope()) key("rope.freq_base", 5000.0F);
    if (has_windows()) {
      key("attention.sliding_window", std::uint32_t{kWindow});
      key("attention.sliding_window_pattern", std::uint32_t{2});
      key("rope.freq_base_swa", 800.0F);
    }
    if (has_types()) writer.add("tokenizer.ggml.token_type_count", std::uint32_t{2});
    if (is_mixture()) {
      key("moe_every_n_layers", std::uint32_t{2});
      key("expert_count", std::uint32_t{kExperts});
      key("expert_used_count", std::uint32_t{kChosen});
    }
    for (const std::string& name : order_) {
      const Tensor& tensor = tensors_.at(name);
      writer.add_tensor(name, tensor.dims, tensor.dims.size() == 1 ? DType::kF32 : type_, tensor.data);
    }
    return writer.bytes();
  }

  /// Rows behind the last norm.
  Rows rows(const std::vector<std::int32_t>& tokens, const std::vector<std::uint8_t>& types = {}) const {
    Rows x;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      Row row = row_of("token_embd.weight", tokens[i]);
      for (double& value : row) value *= is_gemma() ? std::sqrt(double{kWidth}) : 1;
      if (has_positions()) add(row, row_of("position_embd.weight", static_cast<int>(i)));
      if (has_types()) add(row, row_of("token_types.weight", types.empty() ? 0 : types[i]));
      x.push_back(is_gemma() ? row : norm(row, "token_embd_norm"));
    }
    for (int i = 0; i < layers_; ++i) layer(i, x);
    if (has_norms_in_front())
      for (Row& row : x) row = norm(row, "output_norm");
    return x;
  }
  Row mean(const std::vector<std::int32_t>& tokens) const {
    Row sum(kWidth, 0.0);
    const Rows all = rows(tokens);
    for (const Row& row : all) add(sum, row);
    for (double& value : sum) value /= static_cast<double>(all.size());
    return is_gemma() ? product("dense_3.weight", product("dense_2.weight", sum)) : sum;
  }
  /// The score of the ranking head.
  double score(const std::vector<std::int32_t>& tokens, const std::vector<std::uint8_t>& types = {}) const {
    const Rows all = rows(tokens, types);
    Row pooled = all[0];
    if (is_modern()) {
      pooled.assign(kWidth, 0.0);
      for (const Row& row : all) add(pooled, row);
      for (double& value : pooled) value /= static_cast<double>(all.size());
    }
    Row hidden = product("cls.weight", pooled);
    if (!is_modern()) add(hidden, row_of("cls.bias", 0));
    for (double& value : hidden) value = is_modern() ? gelu(value) : std::tanh(value);
    if (is_modern()) hidden = norm(hidden, "cls.norm");
    return product("cls.output.weight", hidden)[0] + row_of("cls.output.bias", 0)[0];
  }

 private:
  static constexpr float kEpsilon = 1e-5F;

  struct Tensor {
    std::vector<std::uint64_t> dims;
    std::vector<float> values;
    std::string data;
  };

  bool is_gemma() const { return arch_ == "gemma-embedding"; }
  bool is_modern() const { return arch_ == "modern-bert"; }
  bool is_mixture() const { return arch_ == "nomic-bert-moe"; }
  bool has_norms_in_front() const { return is_gemma() || is_modern(); }
  bool has_positions() const { return arch_ == "bert"; }
  bool has_rope() const { return !has_positions(); }
  bool has_types() const { return !has_norms_in_front(); }
  bool has_windows() const { return has_norms_in_front(); }
  bool has_biases() const { return arch_ == "bert" || arch_ == "jina-bert-v3"; }
  bool is_gated() const { return arch_ == "nomic-bert" || has_norms_in_front(); }
  bool has_experts(int layer) const { return is_mixture() && layer % 2 == 1; }
  /// gemma's last of two sees all, modern-bert's first.
  bool is_windowed(int layer) const { return has_windows() && (layer % 2 == 0) == is_gemma(); }

  static std::string layer_name(int layer, const std::string& name) {
    return "blk." + std::to_string(layer) + "." + name;
  }

  void add_tensor(const std::string& name, std::vector<std::uint64_t> dims, float mean, float deviation) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : dims) count *= dim;
    std::normal_distribution<float> normal(mean, deviation);
    Tensor tensor{.dims = std::move(dims), .values = {}, .data = {}};
    if (type_ == DType::kQ8_0 && tensor.dims.size() > 1) {  // a half of 2^-9, then 32 bytes
      for (std::uint64_t block = 0; block < count / 32; ++block) {
        tensor.data += bytes_of(std::uint16_t{0x1800});
        for (int i = 0; i < 32; ++i) {
          const auto byte = static_cast<std::int8_t>(std::clamp(std::lround(normal(random_) * 512), -127L, 127L));
          tensor.data += static_cast<char>(byte);
          tensor.values.push_back(static_cast<float>(byte) / 512);
        }
      }
    } else {
      for (std::uint64_t i = 0; i < count; ++i) tensor.values.push_back(normal(random_));
      tensor.data = bytes_of(tensor.values);
    }
    order_.push_back(name);
    tensors_[name] = std::move(tensor);
  }
  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    add_tensor(name, {cols, rows}, 0, 1 / std::sqrt(static_cast<float>(cols)));
  }
  void bias(const std::string& name, std::uint64_t size) { add_tensor(name, {size}, 0, 0.2F); }
  void add_norm(const std::string& name, bool with_bias) {
    add_tensor(name + ".weight", {kWidth}, 1, 0.1F);
    if (with_bias) bias(name + ".bias", kWidth);
  }

  void add_all() {
    add_tensor("token_embd.weight", {kWidth, kWords}, 0, 0.2F);
    if (has_positions()) add_tensor("position_embd.weight", {kWidth, kContext}, 0, 0.1F);
    if (has_types()) add_tensor("token_types.weight", {kWidth, 2}, 0, 0.1F);
    if (!is_gemma()) add_norm("token_embd_norm", !is_modern());
    for (int i = 0; i < layers_; ++i) add_layer(i);
    if (has_norms_in_front()) add_norm("output_norm", false);
    if (is_gemma()) matrix("dense_2.weight", 160, kWidth), matrix("dense_3.weight", kWidth, 160);
    if (!ranks_) return;
    matrix("cls.weight", kWidth, kWidth);
    if (!is_modern()) bias("cls.bias", kWidth);
    if (is_modern()) add_norm("cls.norm", false);
    matrix("cls.output.weight", 1, kWidth);
    bias("cls.output.bias", 1);
  }

  void add_layer(int i) {
    const auto name = [&](const std::string& suffix) { return layer_name(i, suffix); };
    const auto linear = [&](const std::string& stem, std::uint64_t rows, std::uint64_t cols) {
      matrix(name(stem + ".weight"), rows, cols);
      if (has_biases() || (is_mixture() && stem.starts_with("ffn"))) bias(name(stem + ".bias"), rows);
    };
    if (has_norms_in_front() && (is_gemma() || i > 0)) add_norm(name("attn_norm"), false);
    if (is_gemma()) {
      for (const char* part : {"attn_q", "attn_k", "attn_v"}) linear(part, kWidth, kWidth);
      for (const char* part : {"attn_q_norm.weight", "attn_k_norm.weight"}) add_tensor(name(part), {kDim}, 1, 0.1F);
      for (const char* part : {"post_attention_norm", "ffn_norm", "post_ffw_norm"}) add_norm(name(part), false);
    } else {
      linear("attn_qkv", 3 * kWidth, kWidth);
      if (is_modern()) add_norm(name("ffn_norm"), false);
    }
    linear("attn_output", kWidth, kWidth);
    if (!has_norms_in_front()) add_norm(name("attn_output_norm"), true), add_norm(name("layer_output_norm"), true);
    if (has_experts(i)) {
      add_tensor(name("ffn_gate_inp.weight"), {kWidth, kExperts}, 0, 0.3F);
      add_tensor(name("ffn_up_exps.weight"), {kWidth, kFfn, kExperts}, 0, 0.125F);
      add_tensor(name("ffn_down_exps.weight"), {kFfn, kWidth, kExperts}, 0, 0.1F);
      return;
    }
    if (is_gated() && !is_modern()) matrix(name("ffn_gate.weight"), kFfn, kWidth);
    linear("ffn_up", is_modern() ? 2 * kFfn : kFfn, kWidth);
    linear("ffn_down", kWidth, kFfn);
  }

  // The plain computation.

  static void add(Row& x, const Row& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  static double gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
  static double gelu_tanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  Row row_of(const std::string& name, int row) const {
    const Tensor& tensor = tensors_.at(name);
    const auto cols = static_cast<std::ptrdiff_t>(tensor.dims[0]);
    return Row(tensor.values.begin() + row * cols, tensor.values.begin() + (row + 1) * cols);
  }
  /// The rows [first, first + count) of a matrix, times x; count 0: all.
  Row product(const std::string& name, const Row& x, int first = 0, int count = 0) const {
    const Tensor& tensor = tensors_.at(name);
    const std::uint64_t cols = tensor.dims[0];
    const int all = static_cast<int>(tensor.values.size() / cols);
    Row out;
    for (int r = first; r < (count == 0 ? all : first + count); ++r) {
      const float* weights = tensor.values.data() + static_cast<std::uint64_t>(r) * cols;
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * x[i];
      out.push_back(sum);
    }
    return out;
  }
  Row linear(const std::string& stem, const Row& x) const {
    Row out = product(stem + ".weight", x);
    if (has(stem + ".bias")) add(out, row_of(stem + ".bias", 0));
    return out;
  }
  Row norm(const Row& x, const std::string& name) const {
    if (!has(name + ".weight")) return x;
    double mean = 0, squares = 0;
    if (!is_gemma())
      for (const double value : x) mean += value / static_cast<double>(x.size());
    for (const double value : x) squares += (value - mean) * (value - mean);
    const Row weight = row_of(name + ".weight", 0);
    Row out = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      out[i] = (x[i] - mean) / std::sqrt(squares / static_cast<double>(x.size()) + double{kEpsilon}) * weight[i];
    if (has(name + ".bias")) add(out, row_of(name + ".bias", 0));
    return out;
  }
  static void rotate(Row& head, std::size_t position, double base) {
    for (int i = 0; i < kDim / 2; ++i) {
      const double angle = static_cast<double>(position) * std::pow(base, -2.0 * i / kDim);
      double &a = head[static_cast<std::size_t>(i)], &b = head[static_cast<std::size_t>(i + kDim / 2)];
      const double c = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = c;
    }
  }
  Row heads_of(int layer, const std::string& which, const Row& all, std::size_t position) const {
    Row out;
    for (int h = 0; h < kHeads; ++h) {
      Row head(all.begin() + h * kDim, all.begin() + (h + 1) * kDim);
      if (which != "v") {
        head = norm(head, layer_name(layer, "attn_" + which + "_norm"));
        if (has_rope()) rotate(head, position, is_windowed(layer) ? 800.0 : 5000.0);
      }
      out.insert(out.end(), head.begin(), head.end());
    }
    return out;
  }

  Rows mixed(int layer, const Rows& x) const {
    const auto name = [&](const std::string& suffix) { return layer_name(layer, suffix); };
    Rows q, k, v, out;
    for (std::size_t p = 0; p < x.size(); ++p) {
      const Row h = norm(x[p], name("attn_norm"));
      const Row all = is_gemma() ? Row() : linear(name("attn_qkv"), h);
      Row parts[3];
      for (int i = 0; i < 3; ++i) {
        const std::string which(1, "qkv"[i]);
        if (is_gemma()) {
          parts[i] = linear(name("attn_" + which), h);
        } else {
          parts[i].assign(all.begin() + i * kWidth, all.begin() + (i + 1) * kWidth);
        }
        parts[i] = heads_of(layer, which, parts[i], p);
      }
      q.push_back(parts[0]), k.push_back(parts[1]), v.push_back(parts[2]);
    }
    for (std::size_t p = 0; p < x.size(); ++p) {
      Row attended(kWidth, 0.0);
      for (int h = 0; h < kHeads; ++h) {
        Row weights(x.size(), 0.0);
        double sum = 0;
        for (std::size_t o = 0; o < x.size(); ++o) {
          const auto distance = p > o ? p - o : o - p;
          if (is_windowed(layer) && distance > kWindow / 2) continue;
          double score = 0;
          for (int d = h * kDim; d < (h + 1) * kDim; ++d)
            score += q[p][static_cast<std::size_t>(d)] * k[o][static_cast<std::size_t>(d)];
          sum += weights[o] = std::exp(score / std::sqrt(double{kDim}));
        }
        for (std::size_t o = 0; o < x.size(); ++o)
          for (int d = h * kDim; d < (h + 1) * kDim; ++d)
            attended[static_cast<std::size_t>(d)] += weights[o] / sum * v[o][static_cast<std::size_t>(d)];
      }
      out.push_back(linear(name("attn_output"), attended));
    }
    return out;
  }

  Row fed_forward(int layer, const Row& h) const {
    const auto name = [&](const std::string& suffix) { return layer_name(layer, suffix); };
    if (has_experts(layer)) return chosen(layer, h);
    Row up = linear(name("ffn_up"), h), gate;
    if (is_modern()) {
      gate.assign(up.begin(), up.begin() + kFfn);
      up.erase(up.begin(), up.begin() + kFfn);
      for (double& value : gate) value = gelu(value);
    } else if (is_gated()) {
      gate = product(name("ffn_gate.weight"), h);
      for (double& value : gate) value = is_gemma() ? gelu_tanh(value) : value / (1 + std::exp(-value));
    } else {
      for (double& value : up) value = gelu(value);
    }
    for (std::size_t i = 0; i < gate.size(); ++i) up[i] *= gate[i];
    return linear(name("ffn_down"), up);
  }

  Row chosen(int layer, const Row& h) const {
    const auto name = [&](const std::string& suffix) { return layer_name(layer, suffix); };
    const Row scores = product(name("ffn_gate_inp.weight"), h);
    double sum = 0;
    std::vector<int> order;
    for (int e = 0; e < kExperts; ++e) order.push_back(e), sum += std::exp(scores[static_cast<std::size_t>(e)]);
    std::ranges::sort(order, std::greater{}, [&](int e) { return scores[static_cast<std::size_t>(e)]; });
    Row out(kWidth, 0.0);
    for (int rank = 0; rank < kChosen; ++rank) {
      const int e = order[static_cast<std::size_t>(rank)];
      Row up = product(name("ffn_up_exps.weight"), h, e * kFfn, kFfn);
      for (double& value : up) value = gelu(value);
      Row down = product(name("ffn_down_exps.weight"), up, e * kWidth, kWidth);
      for (double& value : down) value *= std::exp(scores[static_cast<std::size_t>(e)]) / sum;
      add(out, down);
    }
    return out;
  }

  void layer(int i, Rows& x) const {
    const auto name = [&](const std::string& suffix) { return layer_name(i, suffix); };
    const Rows results = mixed(i, x);
    for (std::size_t p = 0; p < x.size(); ++p) {
      add(x[p], norm(results[p], name("post_attention_norm")));
      if (!has_norms_in_front()) x[p] = norm(x[p], name("attn_output_norm"));
      add(x[p], norm(fed_forward(i, norm(x[p], name("ffn_norm"))), name("post_ffw_norm")));
      if (!has_norms_in_front()) x[p] = norm(x[p], name("layer_output_norm"));
    }
  }

  std::string arch_;
  int layers_;
  bool ranks_;
  DType type_;
  std::mt19937 random_{23};
  std::vector<std::string> order_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace octavo::test
