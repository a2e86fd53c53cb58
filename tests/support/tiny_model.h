// Models of a few thousand random weights, as GGUF bytes or as a source in memory, for tests of the model layer.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/gguf_writer.h"
#include "support/memory_source.h"

namespace octavo::test {

/// A recipe for a tiny model. Every key and tensor can be left out, and tensors replaced, to make a wrong file.
struct TinyModel {
  std::string arch = "llama";
  std::uint32_t layers = 2, width = 64, heads = 4, kv_heads = 2, head_dim = 32, ffn = 96, context = 1024, vocab = 80;
  std::uint32_t window = 24;     // of families with windows
  std::uint32_t v_head_dim = 0;  // of values that attention reads; 0: head_dim
  // qwen35, qwen35moe: every second layer attends. Sizes of heads are no multiples of anything. lfm2: likewise, the
  // others are short convolutions; granitehybrid: the others are Mamba-2, with key_heads groups and states of key_dim.
  // nemotron_h, nemotron_h_moe: of each four layers one is Mamba-2, the third attends, two are feed-forwards alone.
  // falcon-h1: every layer attends and has Mamba-2 beside.
  std::uint32_t key_heads = 2, value_heads = 4, key_dim = 18, value_dim = 24, taps = 4, attention_every = 2;
  // gemma4: every third layer sees all, with wider heads, one KV head and K for V; the last two of five and more
  // borrow, and have a feed-forward twice as wide.
  std::uint32_t global_head_dim = 64, per_layer_width = 32;
  bool v_is_k = true;
  std::uint32_t model_width = 0;  // gemma4-assistant: of the model that it drafts for; its layers all borrow
  // The next token depends on the last one nearly alone, so that an assistant of the same width and seed, whose
  // projection is then its embedding, guesses what a model says next.
  bool is_simple = false;
  bool tied = true;
  DType type = DType::kF32;                               // kF32 or kQ8_0, of the matrices
  std::set<std::string> without = {};                     // keys and tensors to leave out
  std::function<void(GgufWriter&)> extra = {};            // further keys and tensors of the bytes
  std::set<std::string> transposed = {};                  // tensors whose dimensions are swapped
  unsigned seed = 17;                                     // of the weights
  std::map<std::uint32_t, std::uint32_t> head_dims = {};  // of layers whose heads differ; no key of a file says so
  std::uint32_t experts = 0, chosen = 3;                  // of width ffn each; 0: 8 for mixtures, else none
  std::uint32_t expert_rows = 0;  // nemotron_h_moe: the width of the rows that experts read and give; 0: width
  bool fused_gate_up = false;     // the experts' gate and up lie in one tensor
  bool fused_qkv = false;         // Q, K and V lie in one tensor, and so do their biases
  bool factors = false;           // a number beside each matrix of a layer, of mixtures one an expert
  // qwen35, qwen35moe: a draft head behind the layers, with random weights, or one that guesses what the model says
  // next: both then do little more than to look at the token.
  enum class Head : std::uint8_t { kNone, kRandom, kAgrees } head = Head::kNone;
  bool head_has_own = false;  // embedding, output and norm
  bool biases = false;  // those that files may have, of a family that has none of its own; of qwen2 that of logits
  bool norms_by_head = false;   // each head of Q and K has one (command-r, stablelm)
  bool long_context = false;    // there are two lists of RoPE factors, for contexts up to 16 and longer ones (phi3)
  bool gates_of_heads = false;  // one number gates a head's result (muse-glimmer, whose files have one an element)
  bool is_parallel = false;     // the feed-forward reads what attention reads (stablelm)
  // deepseek2, and minicpm3, whose files have the products of heads in one matrix. head_dim is what is not rotated.
  std::uint32_t latent_rank = 64, q_rank = 32, rotated_dim = 16, result_dim = 24;

  std::string bytes() const {
    GgufWriter writer;
    write(writer);
    if (extra) extra(writer);
    return writer.bytes();
  }
  /// Without `extra`: the caller adds to the source itself.
  MemorySource source() const {
    MemorySource source;
    write(source);
    return source;
  }

 private:
  template <class Writer>
  void write(Writer& writer) const {
    std::mt19937 random(seed);
    write_metadata(writer);
    write_tensors(writer, random);
  }

  bool qk_norm() const {
    return arch == "qwen3" || arch == "qwen3moe" || arch == "gemma3" || arch == "hunyuan-dense" || arch == "apertus" ||
           is_glimmer() || is_laguna() || is_step() || norms_results_alone() || is_gemma4() || is_hybrid() || is_lfm2();
  }
  bool is_gpt_oss() const { return arch == "gpt-oss"; }
  bool is_glimmer() const { return arch == "muse-glimmer"; }
  bool is_laguna() const { return arch == "laguna"; }
  bool is_spark() const { return arch == "spark2_5"; }
  bool is_north() const { return arch == "cohere2moe"; }
  /// The first layer has a dense feed-forward.
  bool begins_dense() const { return is_laguna() || is_north(); }
  bool is_starcoder() const { return arch == "starcoder2"; }
  bool has_norm_biases() const { return is_starcoder() || arch == "stablelm"; }
  bool has_layer_norms() const { return is_cohere() || has_norm_biases(); }
  bool has_ffn_gate() const {
    constexpr std::string_view kNone[] = {"glm4", "phi3", "arcee", "apertus", "starcoder2"};
    return std::ranges::find(kNone, arch) == std::end(kNone) && !is_nemotron();
  }
  bool has_gate_in_up() const { return arch == "glm4" || arch == "phi3"; }
  bool has_qkv_biases() const { return arch == "qwen2" || arch == "qwen2vl"; }
  bool is_cohere() const { return arch == "command-r" || arch == "cohere2" || is_north(); }
  bool norms_results_alone() const { return arch == "olmo2" || arch == "exaone4"; }
  bool norms_results() const { return gemma() || norms_results_alone() || arch == "glm4" || is_glimmer() || is_lfm3(); }
  std::uint64_t norm_size(std::uint64_t num_heads, std::uint64_t dim) const {
    return arch == "olmo2" ? num_heads * dim : dim;
  }
  bool is_glm_moe() const { return arch == "glm4moe"; }
  bool is_llama4() const { return arch == "llama4"; }
  // step35: layers with a window have more heads; the first one is dense, and the last ones have limits.
  bool is_step() const { return arch == "step35"; }
  bool has_window(std::uint32_t layer) const { return layer % 3 != 0; }
  // laguna: layers with a window have twice as many.
  std::uint32_t heads_of(std::uint32_t layer) const {
    if (is_laguna() && layer % 4 != 0) return 2 * heads;
    return is_step() && has_window(layer) ? heads + kv_heads : heads;
  }
  // llama4: every second layer is a mixture.
  std::uint32_t experts_of(std::uint32_t layer) const {
    const bool is_dense = (is_llama4() && layer % 2 == 0) || ((is_step() || begins_dense()) && layer == 0);
    return is_dense ? 0 : num_experts();
  }
  bool is_next() const { return arch == "qwen3next"; }
  bool is_mixture() const {
    return arch == "qwen3moe" || arch == "qwen35moe" || arch == "granitemoe" || arch == "nemotron_h_moe" ||
           is_gpt_oss() || is_glm_moe() || is_next() || is_laguna() || is_north() || is_llama4() || is_step();
  }
  bool is_granite() const { return arch == "granite" || arch == "granitemoe" || arch == "granitehybrid"; }
  std::uint32_t shared_ffn() const {
    if (is_llama4()) return ffn;
    const bool has_shared = arch == "qwen35moe" || arch == "granitemoe" || arch == "nemotron_h_moe" || is_glm_moe() ||
                            is_next() || is_laguna() || is_north() || is_step();
    return has_shared ? ffn + 32 : 0;
  }
  std::uint32_t num_experts() const { return experts == 0 && is_mixture() ? 8 : experts; }
  bool ffn_norm_is_post_attention() const { return is_hybrid() || is_gpt_oss() || arch == "seed_oss" || is_glm_moe(); }
  bool is_hybrid() const { return arch == "qwen35" || arch == "qwen35moe" || is_next(); }
  bool is_lfm2() const { return arch == "lfm2" || is_lfm3(); }
  // lfm3: of the layers that attend every second one has no window.
  bool is_lfm3() const { return arch == "lfm3"; }
  bool is_nemotron() const { return arch == "nemotron_h" || arch == "nemotron_h_moe"; }
  bool is_falcon() const { return arch == "falcon-h1"; }
  bool has_mamba() const { return arch == "granitehybrid" || is_nemotron() || is_falcon(); }
  bool is_latent() const { return arch == "deepseek2" || is_joint(); }
  bool is_joint() const { return arch == "minicpm3"; }
  bool keeps_state(std::uint32_t layer) const {
    if (is_nemotron()) return layer % 4 == 0;
    if (is_falcon()) return false;  // not alone
    return (is_hybrid() || is_lfm2() || has_mamba()) && layer < layers && (layer + 1) % attention_every != 0;
  }
  std::uint64_t channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  bool gemma() const { return arch == "gemma2" || arch == "gemma3" || is_gemma4(); }
  bool is_assistant() const { return arch == "gemma4-assistant"; }
  // deci: the layers of each four in turn have no mixer, both parts, no feed-forward, and neither.
  bool is_deci() const { return arch == "deci"; }
  bool has_mixer(std::uint32_t layer) const {
    return is_nemotron() ? layer % 2 == 0 : !is_deci() || layer % 4 == 1 || layer % 4 == 2;
  }
  bool has_feed_forward(std::uint32_t layer) const {
    return is_nemotron() ? layer % 2 == 1 : !is_deci() || layer % 4 < 2;
  }
  bool is_gemma4() const { return arch == "gemma4" || is_assistant(); }
  bool is_global(std::uint32_t layer) const { return is_gemma4() && layer % 3 == 2; }
  std::uint32_t num_borrowing() const {
    if (is_assistant()) return layers;
    return is_gemma4() && layers >= 5 ? 2 : 0;
  }
  bool borrows(std::uint32_t layer) const { return num_borrowing() > 0 && layer >= layers - num_borrowing(); }
  std::uint32_t head_dim_of(std::uint32_t layer) const {
    if (head_dims.contains(layer)) return head_dims.at(layer);
    return is_global(layer) ? global_head_dim : head_dim;
  }
  std::uint32_t kv_heads_of(std::uint32_t layer) const { return is_global(layer) ? 1 : kv_heads; }
  std::uint32_t ffn_of(std::uint32_t layer) const { return borrows(layer) ? 2 * ffn : ffn; }

  template <class Writer, class T>
  void key(Writer& writer, const std::string& suffix, T value) const {
    const std::string name = arch + "." + suffix;
    if (!without.contains(name)) writer.add(name, value);
  }

  template <class Writer, class T>
  void array(Writer& writer, const std::string& suffix, const std::vector<T>& values) const {
    const std::string name = arch + "." + suffix;
    if (!without.contains(name)) writer.add_array(name, values);
  }

  template <class Writer>
  void write_metadata(Writer& writer) const {
    if (!without.contains("general.architecture")) writer.add("general.architecture", std::string_view(arch));
    key(writer, "block_count", layers + (head == Head::kNone ? 0U : 1U));
    if (head != Head::kNone) key(writer, "nextn_predict_layers", 1U);
    key(writer, "embedding_length", width);
    if (!is_gemma4() && !is_deci() && !is_nemotron()) key(writer, "feed_forward_length", ffn);
    if (is_nemotron()) write_parts(writer);
    key(writer, "context_length", context);
    if (!is_deci() && !is_laguna() && !is_step()) key(writer, "attention.head_count", heads);
    if (is_laguna()) write_laguna(writer);
    if (is_spark()) write_spark(writer);
    if (is_deci()) write_deci(writer);
    if (is_lfm2()) key(writer, "shortconv.l_cache", taps);
    if (is_latent()) write_latent(writer);
    const bool has_kv_heads_of_layers = is_lfm2() || (has_mamba() && !is_falcon());
    if (has_kv_heads_of_layers) write_kv_heads(writer);
    if (!is_gemma4() && !is_deci() && !has_kv_heads_of_layers && !is_latent())
      key(writer, "attention.head_count_kv", kv_heads);
    if (!is_latent()) key(writer, "attention.key_length", is_gemma4() ? global_head_dim : head_dim);
    if (!is_latent())
      key(writer, "attention.value_length", is_gemma4() ? global_head_dim : v_head_dim > 0 ? v_head_dim : head_dim);
    key(writer,
        has_layer_norms() || arch == "nemotron_h" ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
        1e-5F);
    if (is_cohere() || is_glimmer()) key(writer, "logit_scale", 0.5F);
    if (is_glimmer()) key(writer, "final_logit_softcapping", 0.75F);
    if (arch == "stablelm") key(writer, "rope.dimension_count", head_dim / 4);
    if (long_context) key(writer, "rope.scaling.original_context_length", 16U);
    if (long_context) key(writer, "rope.scaling.attn_factor", 1.25F);
    if (arch == "apertus") write_xielu(writer);
    if (arch == "glm4") key(writer, "rope.dimension_count", head_dim / 2);
    if (arch == "nanbeige") key(writer, "num_loops", 2U);
    key(writer, "rope.freq_base", 10000.0F);
    if (gemma() || is_gpt_oss() || arch == "cohere2" || norms_results_alone() || is_glimmer() || is_laguna() ||
        is_spark() || is_north())
      key(writer, "attention.sliding_window", window);
    if (arch == "gemma2") key(writer, "attn_logit_softcapping", 1.5F);
    if (arch == "gemma2") key(writer, "final_logit_softcapping", 0.75F);
    if (is_gemma4()) write_gemma4(writer);
    if (is_granite() || arch == "minicpm") write_scales(writer);
    if (arch == "mistral3") key(writer, "attention.temperature_scale", 0.5F);
    if (arch == "mistral3") key(writer, "attention.temperature_length", 8U);
    if (is_hybrid()) key(writer, "rope.dimension_count", head_dim / 4);
    if (is_hybrid()) key(writer, "full_attention_interval", attention_every);
    if (is_hybrid() || has_mamba()) write_recurrence(writer);
    if (is_glm_moe() || arch == "nemotron_h_moe") write_router(writer);
    if (is_llama4()) write_chunks(writer);
    if (is_step()) write_step(writer);
    if (num_experts() == 0) return;
    key(writer, "expert_count", num_experts());
    key(writer, "expert_used_count", chosen);
    if (begins_dense()) key(writer, "leading_dense_block_count", 1U);
    if (begins_dense()) key(writer, "expert_weights_norm", true);
    if (is_mixture() || is_gemma4()) key(writer, "expert_feed_forward_length", ffn);
    if (shared_ffn() > 0 && !is_llama4()) key(writer, "expert_shared_feed_forward_length", shared_ffn());
  }

  /// Of sigmoids; of glm4moe two of four groups of experts.
  template <class Writer>
  void write_router(Writer& writer) const {
    key(writer, "expert_weights_norm", true);
    key(writer, "expert_weights_scale", 1.5F);
    if (expert_rows > 0) key(writer, "moe_latent_size", expert_rows);
    if (!is_glm_moe()) return;
    key(writer, "expert_group_count", 4U);
    key(writer, "expert_group_used_count", 2U);
  }

  /// Of laguna, whose first of each four layers sees all.
  template <class Writer>
  void write_laguna(Writer& writer) const {
    std::vector<std::int32_t> heads_of_layers;
    for (std::uint32_t i = 0; i < layers; ++i) heads_of_layers.push_back(static_cast<std::int32_t>(heads_of(i)));
    array(writer, "attention.head_count", heads_of_layers);
    key(writer, "expert_weights_scale", 2.5F);
    key(writer, "rope.dimension_count", head_dim / 2);
    key(writer, "rope.dimension_count_swa", head_dim);
    key(writer, "rope.freq_base_swa", 500.0F);
    key(writer, "rope.scaling.type", std::string_view("yarn"));
    key(writer, "rope.scaling.factor", 4.0F);
    key(writer, "rope.scaling.original_context_length", context / 4);
  }

  template <class Writer>
  void write_spark(Writer& writer) const {
    std::vector<bool> windowed;
    for (std::uint32_t i = 0; i < layers; ++i) windowed.push_back(i % 4 != 3);
    array(writer, "attention.sliding_window_pattern", windowed);
    key(writer, "rope.dimension_count", head_dim / 4);
    key(writer, "rope.dimension_count_swa", head_dim);
    key(writer, "rope.freq_base_swa", 500.0F);
  }

  template <class Writer>
  void write_step(Writer& writer) const {
    std::vector<std::int32_t> heads_of_layers;
    std::vector<bool> windowed;
    std::vector<float> limits;
    for (std::uint32_t i = 0; i < layers; ++i) {
      heads_of_layers.push_back(static_cast<std::int32_t>(heads_of(i)));
      windowed.push_back(has_window(i));
      limits.push_back(i + 2 < layers ? 0.0F : 0.25F);
    }
    array(writer, "attention.head_count", heads_of_layers);
    array(writer, "attention.sliding_window_pattern", windowed);
    array(writer, "swiglu_clamp_exp", limits);
    array(writer, "swiglu_clamp_shexp", limits);
    key(writer, "attention.sliding_window", window);
    key(writer, "rope.freq_base_swa", 500.0F);
    key(writer, "expert_weights_norm", true);
    key(writer, "expert_weights_scale", 1.5F);
  }

  /// Of llama4: scores grow every five tokens.
  template <class Writer>
  void write_chunks(Writer& writer) const {
    key(writer, "attention.chunk_size", window);
    key(writer, "attention.temperature_scale", 0.5F);
    key(writer, "attention.temperature_length", 5U);
    key(writer, "interleave_moe_layer_step", 2U);
  }

  /// Keys without the architecture's name; one differs from layer to layer.
  template <class Writer>
  void write_xielu(Writer& writer) const {
    std::vector<float> above;
    for (std::uint32_t i = 0; i < layers; ++i) above.push_back(0.25F * static_cast<float>(i));
    writer.add_array("xielu.alpha_p", above);
    writer.add("xielu.alpha_n", -0.5F);
    writer.add("xielu.beta", 0.5F);
    writer.add("xielu.eps", -1e-6F);
  }

  /// Of minicpm, whose files may have none, those that the others have.
  template <class Writer>
  void write_scales(Writer& writer) const {
    key(writer, "embedding_scale", 1.5F);
    key(writer, "residual_scale", 0.375F);
    key(writer, "logit_scale", 1.75F);
    if (is_granite()) key(writer, "attention.scale", 0.25F);
  }

  template <class Writer>
  void write_gemma4(Writer& writer) const {
    std::vector<bool> windowed;
    std::vector<std::int32_t> kv_heads_of_layers, ffn_of_layers;
    for (std::uint32_t i = 0; i < layers; ++i) {
      windowed.push_back(!is_global(i));
      kv_heads_of_layers.push_back(static_cast<std::int32_t>(kv_heads_of(i)));
      ffn_of_layers.push_back(static_cast<std::int32_t>(ffn_of(i)));
    }
    array(writer, "attention.sliding_window_pattern", windowed);
    array(writer, "attention.head_count_kv", kv_heads_of_layers);
    array(writer, "feed_forward_length", ffn_of_layers);
    key(writer, "attention.key_length_swa", head_dim);
    key(writer, "attention.value_length_swa", head_dim);
    key(writer, "attention.shared_kv_layers", num_borrowing());
    key(writer, "embedding_length_per_layer_input", per_layer_width);
    if (is_assistant()) key(writer, "embedding_length_out", model_width);
    if (is_assistant()) key(writer, "nextn_predict_layers", layers);
    key(writer, "rope.freq_base_swa", 500.0F);
    key(writer, "final_logit_softcapping", 0.75F);
  }

  template <class Writer>
  void write_deci(Writer& writer) const {
    std::vector<std::int32_t> heads_of_layers, kv_heads_of_layers, ffn_of_layers;
    for (std::uint32_t i = 0; i < layers; ++i) {
      heads_of_layers.push_back(static_cast<std::int32_t>(has_mixer(i) ? heads : 0));
      kv_heads_of_layers.push_back(static_cast<std::int32_t>(has_mixer(i) ? kv_heads : 0));
      ffn_of_layers.push_back(static_cast<std::int32_t>(has_feed_forward(i) ? ffn : 0));
    }
    array(writer, "attention.head_count", heads_of_layers);
    array(writer, "attention.head_count_kv", kv_heads_of_layers);
    array(writer, "feed_forward_length", ffn_of_layers);
  }

  template <class Writer>
  void write_latent(Writer& writer) const {
    key(writer, "attention.kv_lora_rank", latent_rank);
    if (q_rank > 0) key(writer, "attention.q_lora_rank", q_rank);
    key(writer, "rope.dimension_count", rotated_dim);
    key(writer, "attention.head_count_kv", is_joint() ? heads : 1U);
    key(writer, "attention.key_length", is_joint() ? head_dim + rotated_dim : latent_rank + rotated_dim);
    key(writer, "attention.value_length", is_joint() ? result_dim : latent_rank);
    if (is_joint()) return;
    key(writer, "attention.key_length_mla", head_dim + rotated_dim);
    key(writer, "attention.value_length_mla", result_dim);
  }

  template <class Writer>
  void write_latent_attention(Writer& writer, std::mt19937& random, const std::string& p) const {
    const auto matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t cols, std::uint64_t count = 0) {
      tensor(writer, random, p + name, rows, cols, false, type, count);
    };
    const std::uint64_t q_rows = std::uint64_t{heads} * (head_dim + rotated_dim);
    if (q_rank > 0) matrix("attn_q_a.weight", q_rank, width);
    if (q_rank > 0) tensor(writer, random, p + "attn_q_a_norm.weight", 1, q_rank, true, DType::kF32);
    matrix(q_rank > 0 ? "attn_q_b.weight" : "attn_q.weight", q_rows, q_rank > 0 ? q_rank : width);
    matrix("attn_kv_a_mqa.weight", latent_rank + rotated_dim, width);
    tensor(writer, random, p + "attn_kv_a_norm.weight", 1, latent_rank, true, DType::kF32);
    if (is_joint()) {
      matrix("attn_kv_b.weight", std::uint64_t{heads} * (head_dim + result_dim), latent_rank);
    } else {
      matrix("attn_k_b.weight", latent_rank, head_dim, heads);
      matrix("attn_v_b.weight", result_dim, latent_rank, heads);
    }
    matrix("attn_output.weight", width, std::uint64_t{heads} * result_dim);
  }

  template <class Writer>
  void write_parts(Writer& writer) const {
    std::vector<std::int32_t> widths;
    for (std::uint32_t i = 0; i < layers; ++i)
      widths.push_back(has_feed_forward(i) ? static_cast<std::int32_t>(ffn) : 0);
    array(writer, "feed_forward_length", widths);
  }

  template <class Writer>
  void write_kv_heads(Writer& writer) const {
    std::vector<std::int32_t> kv_heads_of_layers;
    for (std::uint32_t i = 0; i < layers; ++i)
      kv_heads_of_layers.push_back(keeps_state(i) || !has_mixer(i) ? 0 : static_cast<std::int32_t>(kv_heads));
    array(writer, "attention.head_count_kv", kv_heads_of_layers);
    if (!is_lfm3()) return;
    std::vector<bool> windowed;
    for (std::uint32_t i = 0; i < layers; ++i) windowed.push_back((i + 1) % (2 * attention_every) != 0);
    array(writer, "attention.sliding_window_pattern", windowed);
    key(writer, "attention.sliding_window", window);
    key(writer, "rope.freq_base_swa", 500.0F);
  }

  template <class Writer>
  void write_recurrence(Writer& writer) const {
    key(writer, "ssm.conv_kernel", taps);
    key(writer, "ssm.state_size", key_dim);
    key(writer, "ssm.group_count", key_heads);
    key(writer, "ssm.time_step_rank", value_heads);
    key(writer, "ssm.inner_size", value_heads * value_dim);
  }

  template <class Writer>
  void write_head(Writer& writer, std::mt19937& random, const std::string& p) const {
    const auto add = [&](const std::string& name, std::uint64_t rows, std::uint64_t cols, bool is_vector) {
      tensor(writer, random, p + name, rows, cols, is_vector, type);
    };
    if (head == Head::kRandom) {
      add("nextn.eh_proj.weight", width, 2 * width, false);
    } else if (!without.contains(p + "nextn.eh_proj.weight")) {  // the embedding itself
      std::string data;
      for (std::uint32_t i = 0; i < width; ++i)
        for (std::uint32_t j = 0; j < 2 * width; ++j) data += bytes_of(i == j ? 1.0F : 0.0F);
      writer.add_tensor(p + "nextn.eh_proj.weight", {2 * width, width}, DType::kF32, data);
    }
    add("nextn.enorm.weight", 1, width, true);
    add("nextn.hnorm.weight", 1, width, true);
    if (!head_has_own) return;
    add("nextn.embed_tokens.weight", vocab, width, false);
    add("nextn.shared_head_head.weight", vocab, width, false);
    add("nextn.shared_head_norm.weight", 1, width, true);
  }

  /// Floats whatever the type of the matrices.
  template <class Writer>
  void floats(Writer& writer, std::mt19937& random, const std::string& name, const std::vector<std::uint64_t>& dims,
              float mean, float deviation) const {
    std::normal_distribution<float> normal(mean, deviation);
    std::string data;
    for (std::uint64_t i = 0; i < dims.front() * (dims.size() > 1 ? dims[1] : 1); ++i) data += bytes_of(normal(random));
    if (!without.contains(name)) writer.add_tensor(name, dims, DType::kF32, data);
  }

  template <class Writer>
  void write_delta_net(Writer& writer, std::mt19937& random, const std::string& p) const {
    const std::uint64_t inner = value_heads * value_dim;
    tensor(writer, random, p + "attn_qkv.weight", channels(), width, false, type);
    tensor(writer, random, p + "attn_gate.weight", inner, width, false, type);
    if (is_next()) {
      tensor(writer, random, p + "ssm_ba.weight", std::uint64_t{2} * value_heads, width, false, type);
    } else {
      tensor(writer, random, p + "ssm_alpha.weight", value_heads, width, false, type);
      tensor(writer, random, p + "ssm_beta.weight", value_heads, width, false, type);
    }
    tensor(writer, random, p + "ssm_out.weight", width, inner, false, type);
    floats(writer, random, p + "ssm_conv1d.weight", {taps, channels()}, 0.0F, 0.5F);
    floats(writer, random, p + "ssm_dt.bias", {value_heads}, -2.0F, 1.0F);
    floats(writer, random, p + "ssm_a", {value_heads}, -0.5F, 0.1F);
    floats(writer, random, p + "ssm_norm.weight", {value_dim}, 1.0F, 0.1F);
  }

  /// States forget within ten to some hundred tokens.
  template <class Writer>
  void write_mamba(Writer& writer, std::mt19937& random, const std::string& p) const {
    const std::uint64_t inner = value_heads * value_dim, mixed = inner + 2 * key_heads * key_dim;
    tensor(writer, random, p + "ssm_in.weight", inner + mixed + value_heads, width, false, type);
    floats(writer, random, p + "ssm_conv1d.weight", {taps, mixed}, 0.0F, 0.5F);
    floats(writer, random, p + "ssm_conv1d.bias", {mixed}, 0.0F, 0.3F);
    floats(writer, random, p + "ssm_dt.bias", {value_heads}, -2.0F, 1.0F);
    floats(writer, random, p + "ssm_a", {1, value_heads}, -0.5F, 0.1F);
    floats(writer, random, p + "ssm_d", {1, value_heads}, 1.0F, 0.3F);
    floats(writer, random, p + "ssm_norm.weight", {inner / key_heads, key_heads}, 1.0F, 0.1F);
    tensor(writer, random, p + "ssm_out.weight", width, inner, false, type);
  }

  template <class Writer>
  void write_short_conv(Writer& writer, std::mt19937& random, const std::string& p) const {
    tensor(writer, random, p + "shortconv.in_proj.weight", std::uint64_t{3} * width, width, false, type);
    floats(writer, random, p + "shortconv.conv.weight", {taps, width}, 0.0F, 0.5F);
    tensor(writer, random, p + "shortconv.out_proj.weight", width, width, false, type);
  }

  template <class Writer>
  void write_projections(Writer& writer, std::mt19937& random) const {
    tensor(writer, random, "nextn.post_projection.weight", model_width, width, false, type);
    if (!is_simple)
      return tensor(writer, random, "nextn.pre_projection.weight", width, std::uint64_t{2} * model_width, false, type);
    std::string data;
    for (std::uint32_t i = 0; i < width; ++i)
      for (std::uint32_t j = 0; j < 2 * model_width; ++j) data += bytes_of(i == j ? 1.0F : 0.0F);
    writer.add_tensor("nextn.pre_projection.weight", {2 * model_width, width}, DType::kF32, data);
  }

  /// Of lfm3: half of the pairs turn in layers that see all.
  template <class Writer>
  void write_stays(Writer& writer) const {
    std::string data;
    for (std::uint32_t i = 0; i < head_dim / 2; ++i) data += bytes_of(i < head_dim / 4 ? 1.0F : 1e30F);
    if (!without.contains("rope_freqs.weight"))
      writer.add_tensor("rope_freqs.weight", {head_dim / 2}, DType::kF32, data);
  }

  /// A quarter of the pairs turns, as in files. One tensor for all layers that see all; none where no layer does.
  template <class Writer>
  void write_rope_factors(Writer& writer) const {
    std::string data;
    for (std::uint32_t i = 0; i < global_head_dim / 2; ++i) data += bytes_of(i < global_head_dim / 8 ? 1.0F : 1e30F);
    if (layers < 3 || without.contains("rope_freqs.weight")) return;
    writer.add_tensor("rope_freqs.weight", {global_head_dim / 2}, DType::kF32, data);
  }

  /// Biases of Q, K and V; in Llama's layers of all else, too.
  template <class Writer>
  void write_optional_biases(Writer& writer, std::mt19937& random, const std::string& p) const {
    const auto bias = [&](const std::string& name, std::uint64_t size) {
      floats(writer, random, p + name, {size}, 0.0F, 0.3F);
    };
    bias("attn_q.bias", heads * head_dim * (is_hybrid() ? 2 : 1));
    bias("attn_k.bias", kv_heads * head_dim);
    bias("attn_v.bias", kv_heads * (v_head_dim > 0 ? v_head_dim : head_dim));
    constexpr std::string_view kLlamas[] = {"llama",   "mistral3", "granite", "granitehybrid",
                                            "smollm3", "minicpm",  "nanbeige"};
    if (std::ranges::find(kLlamas, arch) == std::end(kLlamas)) return;
    bias("attn_output.bias", width);
    if (num_experts() > 0) return;
    bias("ffn_gate.bias", ffn);
    bias("ffn_up.bias", ffn);
    bias("ffn_down.bias", width);
  }

  /// Of starcoder2, which has them of all.
  template <class Writer>
  void write_biases_of_matrices(Writer& writer, std::mt19937& random, const std::string& p) const {
    const auto bias = [&](const std::string& name, std::uint64_t size) {
      floats(writer, random, p + name, {size}, 0.0F, 0.3F);
    };
    bias("attn_q.bias", heads * head_dim);
    bias("attn_k.bias", kv_heads * head_dim);
    bias("attn_v.bias", kv_heads * head_dim);
    bias("attn_output.bias", width);
    bias("ffn_up.bias", ffn);
    bias("ffn_down.bias", width);
  }

  /// Of gpt-oss, and its sinks.
  template <class Writer>
  void write_biases(Writer& writer, std::mt19937& random, const std::string& p) const {
    const auto bias = [&](const std::string& name, const std::vector<std::uint64_t>& dims) {
      floats(writer, random, p + name, dims, 0.0F, 0.3F);
    };
    bias("attn_q.bias", {heads * head_dim});
    bias("attn_k.bias", {kv_heads * head_dim});
    bias("attn_v.bias", {kv_heads * head_dim});
    bias("attn_output.bias", {width});
    bias("attn_sinks.weight", {heads});
    bias("ffn_gate_inp.bias", {num_experts()});
    bias("ffn_gate_exps.bias", {ffn, num_experts()});
    bias("ffn_up_exps.bias", {ffn, num_experts()});
    bias("ffn_down_exps.bias", {width, num_experts()});
  }

  template <class Writer>
  void tensor(Writer& writer, std::mt19937& random, const std::string& name, std::uint64_t rows, std::uint64_t cols,
              bool vector, DType own_type, std::uint64_t count = 0) const {
    const DType stored = vector ? DType::kF32 : own_type;
    const bool is_small = head == Head::kAgrees && is_result(name);
    if (is_simple && vector && name.find("post") != std::string::npos)
      return floats(writer, random, name, {cols}, 0.02F, 0.002F);
    const std::string data = weights(random, rows * std::max<std::uint64_t>(count, 1), cols, vector, stored, is_small);
    if (without.contains(name)) return;
    std::vector<std::uint64_t> dims = vector ? std::vector{cols} : std::vector{cols, rows};
    if (count > 0) dims.push_back(count);
    if (transposed.contains(name)) std::swap(dims.front(), dims.back());
    writer.add_tensor(name, dims, stored, data);
    if (!factors || vector || !name.starts_with("blk.") || name.ends_with("ffn_gate_inp.weight")) return;
    const std::string stem = name.substr(0, name.rfind('.'));
    floats(writer, random, stem + ".scale", {std::max<std::uint64_t>(count, 1)}, 1.0F, 0.3F);
  }

  /// A matrix whose products go into the residual stream.
  static bool is_result(const std::string& name) {
    const auto is = [&](const char* part) { return name.find(part) != std::string::npos; };
    return is("attn_output") || is("ffn_down") || is("ssm_out") || is("shortconv.out_proj");
  }

  static std::string weights(std::mt19937& random, std::uint64_t rows, std::uint64_t cols, bool vector, DType stored,
                             bool is_small = false) {
    const float deviation = vector ? 0.1F : (is_small ? 0.02F : 1.0F) / std::sqrt(float(cols));
    std::normal_distribution<float> normal(vector ? 1.0F : 0.0F, deviation);
    std::string data;
    if (stored == DType::kF32) {
      for (std::uint64_t i = 0; i < rows * cols; ++i) data += bytes_of(normal(random));
    } else {  // Q8_0: a half of 2^-9, then 32 bytes
      for (std::uint64_t block = 0; block < rows * cols / 32; ++block) {
        data += bytes_of(std::uint16_t{is_small ? std::uint16_t{0x0400} : std::uint16_t{0x1800}});
        for (int i = 0; i < 32; ++i) data += static_cast<char>(random() & 255);
      }
    }
    return data;
  }

  /// Tensors of the same weights, each of so many rows, as one: those below each other.
  template <class Writer>
  void fused(Writer& writer, std::mt19937& random, const std::string& name, const std::vector<std::uint64_t>& sizes,
             bool vector) const {
    std::string data;
    for (const std::uint64_t size : sizes)
      data += vector ? weights(random, 1, size, true, DType::kF32) : weights(random, size, width, false, type);
    if (without.contains(name)) return;
    const std::uint64_t rows = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    writer.add_tensor(name, vector ? std::vector{rows} : std::vector<std::uint64_t>{width, rows},
                      vector ? DType::kF32 : type, data);
  }

  template <class Writer>
  void write_tensors(Writer& writer, std::mt19937& random) const {
    const auto matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t cols) {
      tensor(writer, random, name, rows, cols, false, type);
    };
    const auto of_experts = [&](const std::string& name, std::uint64_t rows, std::uint64_t cols) {
      tensor(writer, random, name, rows, cols, false, type, num_experts());
    };
    const auto vector = [&](const std::string& name, std::uint64_t size) {
      tensor(writer, random, name, 1, size, true, DType::kF32);
    };
    matrix("token_embd.weight", vocab, width);
    vector(is_lfm2() ? "token_embd_norm.weight" : "output_norm.weight", width);
    if (!tied) matrix("output.weight", vocab, width);
    if (has_norm_biases()) floats(writer, random, "output_norm.bias", {width}, 0.0F, 0.3F);
    for (const char* kind : {"short", "long"})
      if (long_context)
        floats(writer, random, std::string("rope_factors_") + kind + ".weight", {head_dim / 2}, 2.0F, 0.3F);
    if (biases && (has_qkv_biases() || arch == "phi3")) floats(writer, random, "output.bias", {vocab}, 0.0F, 0.3F);
    if (is_gemma4()) write_rope_factors(writer);
    if (is_lfm3()) write_stays(writer);
    if (is_assistant()) write_projections(writer, random);
    if (is_gemma4() && per_layer_width > 0) {
      matrix("per_layer_token_embd.weight", vocab, std::uint64_t{layers} * per_layer_width);
      matrix("per_layer_model_proj.weight", std::uint64_t{layers} * per_layer_width, width);
      vector("per_layer_proj_norm.weight", per_layer_width);
    }
    for (std::uint32_t i = 0; i < layers + (head == Head::kNone ? 0 : 1); ++i) {
      const std::string p = "blk." + std::to_string(i) + ".";
      const std::uint64_t dim = head_dim_of(i), own_ffn = ffn_of(i);
      const std::uint64_t q_width = heads_of(i) * dim, kv_width = kv_heads_of(i) * dim;
      const std::uint64_t v_dim = v_head_dim > 0 ? v_head_dim : dim, v_width = kv_heads_of(i) * v_dim;
      const bool attends = has_mixer(i) && !keeps_state(i);
      if (i == layers) write_head(writer, random, p);
      if ((has_mixer(i) || is_nemotron()) && !norms_results_alone()) vector(p + "attn_norm.weight", width);
      if (has_norm_biases()) floats(writer, random, p + "attn_norm.bias", {width}, 0.0F, 0.3F);
      if (has_norm_biases() && !is_parallel) floats(writer, random, p + "ffn_norm.bias", {width}, 0.0F, 0.3F);
      if (is_glimmer()) matrix(p + "attn_gate.weight", gates_of_heads ? heads : q_width, width);
      if (is_laguna() || is_spark() || is_step() || (is_lfm3() && attends))
        matrix(p + "attn_gate.weight", heads_of(i), width);
      if (has_feed_forward(i) && !norms_results_alone() && !is_cohere() && !is_parallel && !is_nemotron())
        vector(p + (ffn_norm_is_post_attention() ? "post_attention_norm.weight"
                    : is_falcon()                ? "ffn_norm"
                                                 : "ffn_norm.weight"),
               width);
      const bool has_v = !borrows(i) && !(is_global(i) && v_is_k);
      if (is_latent()) {
        write_latent_attention(writer, random, p);
      } else if (attends && has_v && fused_qkv) {
        fused(writer, random, p + "attn_qkv.weight", {is_hybrid() ? 2 * q_width : q_width, kv_width, v_width}, false);
        matrix(p + "attn_output.weight", width, heads_of(i) * v_dim);
      } else if (attends) {
        matrix(p + "attn_q.weight", is_hybrid() ? 2 * q_width : q_width, width);
        if (!borrows(i)) matrix(p + "attn_k.weight", kv_width, width);
        if (has_v) matrix(p + "attn_v.weight", v_width, width);
        matrix(p + "attn_output.weight", width, heads_of(i) * v_dim);
      } else if (is_hybrid()) {
        write_delta_net(writer, random, p);
      } else if (is_lfm2()) {
        write_short_conv(writer, random, p);
      } else if (has_mamba() && has_mixer(i)) {
        write_mamba(writer, random, p);
      }
      if (is_falcon()) write_mamba(writer, random, p);  // beside attention
      if (num_experts() > 0 && is_nemotron() && has_feed_forward(i)) {
        tensor(writer, random, p + "ffn_gate_inp.weight", num_experts(), width, false, DType::kF32);
        const std::uint32_t rows = expert_rows > 0 ? expert_rows : width;
        of_experts(p + "ffn_up_exps.weight", ffn, rows);
        of_experts(p + "ffn_down_exps.weight", rows, ffn);
        if (expert_rows > 0) matrix(p + "ffn_latent_down.weight", rows, width);
        if (expert_rows > 0) matrix(p + "ffn_latent_up.weight", width, rows);
        floats(writer, random, p + "exp_probs_b.bias", {num_experts()}, 0.0F, 0.3F);
        matrix(p + "ffn_up_shexp.weight", shared_ffn(), width);
        matrix(p + "ffn_down_shexp.weight", width, shared_ffn());
      } else if (experts_of(i) > 0 && !is_nemotron()) {
        tensor(writer, random, p + "ffn_gate_inp.weight", num_experts(), width, false, DType::kF32);
        if (fused_gate_up) of_experts(p + "ffn_gate_up_exps.weight", 2 * ffn, width);
        if (!fused_gate_up) of_experts(p + "ffn_gate_exps.weight", ffn, width);
        if (!fused_gate_up) of_experts(p + "ffn_up_exps.weight", ffn, width);
        of_experts(p + "ffn_down_exps.weight", width, ffn);
        if (is_glm_moe() || is_laguna() || is_step())
          floats(writer, random, p + "exp_probs_b.bias", {num_experts()}, 0.0F, 0.3F);
      }
      if (num_experts() > 0 && is_gemma4()) {
        floats(writer, random, p + "ffn_gate_inp.scale", {width}, 8.0F, 1.0F);
        floats(writer, random, p + "ffn_down_exps.scale", {num_experts()}, 1.0F, 0.3F);
        for (const char* norm : {"pre_ffw_norm_2.weight", "post_ffw_norm_1.weight", "post_ffw_norm_2.weight"})
          vector(p + norm, width);
      }
      if ((experts_of(i) == 0 && has_feed_forward(i)) || is_gemma4()) {
        if (has_ffn_gate()) matrix(p + "ffn_gate.weight", own_ffn, width);
        matrix(p + "ffn_up.weight", has_gate_in_up() ? 2 * own_ffn : own_ffn, width);
        matrix(p + "ffn_down.weight", width, own_ffn);
      }
      if (is_starcoder()) write_biases_of_matrices(writer, random, p);
      if (has_qkv_biases() && fused_qkv) {
        fused(writer, random, p + "attn_qkv.bias", {q_width, kv_width, kv_width}, true);
      } else if (has_qkv_biases()) {
        vector(p + "attn_q.bias", q_width);
        vector(p + "attn_k.bias", kv_width);
        vector(p + "attn_v.bias", kv_width);
      }
      if (qk_norm() && attends) vector(p + "attn_q_norm.weight", norm_size(heads_of(i), dim));
      if (qk_norm() && attends && !borrows(i)) vector(p + "attn_k_norm.weight", norm_size(kv_heads_of(i), dim));
      if (norms_by_head) floats(writer, random, p + "attn_q_norm.weight", {dim, heads}, 1.0F, 0.3F);
      if (norms_by_head) floats(writer, random, p + "attn_k_norm.weight", {dim, kv_heads_of(i)}, 1.0F, 0.3F);
      if (norms_results()) vector(p + "post_attention_norm.weight", width);
      if (norms_results()) vector(p + "post_ffw_norm.weight", width);
      if (is_gpt_oss()) write_biases(writer, random, p);
      if (biases && attends && !has_qkv_biases() && !is_starcoder()) write_optional_biases(writer, random, p);
      if (shared_ffn() > 0 && experts_of(i) > 0 && !is_nemotron()) {
        if (is_hybrid()) floats(writer, random, p + "ffn_gate_inp_shexp.weight", {width}, 0.0F, 0.2F);
        matrix(p + "ffn_gate_shexp.weight", shared_ffn(), width);
        matrix(p + "ffn_up_shexp.weight", shared_ffn(), width);
        matrix(p + "ffn_down_shexp.weight", width, shared_ffn());
      }
      if (is_gemma4()) vector(p + "layer_output_scale.weight", 1);
      if (!is_gemma4() || per_layer_width == 0) continue;
      matrix(p + "inp_gate.weight", per_layer_width, width);
      matrix(p + "proj.weight", width, per_layer_width);
      vector(p + "post_norm.weight", width);
    }
  }
};

}  // namespace octavo::test
