// One layer of a model, described: its shapes and choices, grouped by part.
//
// An architecture (model/architectures/) reads a file's keys into specs. Weights, memory, the counting of work and the
// forward pass walk them, and derive nothing a second time. A default is the common case, so that a new field costs no
// edit where it is not set. Sizes are in elements.
//
// A mixer's spec answers what others want to know of any mixer: kv_shape(), state_bytes(), writes_state() and
// result_width(), which LayerSpec passes on. Who asks for the kind computes it, loads it or shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "base/to_size.h"
#include "kernels/xielu_numbers.h"
#include "model/activation.h"
#include "octavo/kv/layer_shape.h"

namespace octavo {

enum class RopeLayout : std::uint8_t { kNeighbours, kHalves };  // element 2i with 2i + 1, or i with i + num_rotated / 2
enum class Presence : std::uint8_t { kAbsent, kOptional, kRequired };

/// YaRN (Peng et al., 2023): pairs of dimensions that turn fast_turns times and more within the original context turn
/// as before, those that turn slow_turns times or less are slowed by the whole divisor, and the ones between by a part.
struct YarnRamp {
  int original_context = 0;  // tokens, before the context was stretched
  double fast_turns = 32;
  double slow_turns = 1;
  double strength = 1;      // 1: as in the paper; 0: all are slowed
  bool whole_pairs = true;  // the ends of the pairs between are rounded outwards
  bool operator==(const YarnRamp&) const = default;
};

/// How a context is stretched.
struct RopeScaling {
  double divisor = 1;  // frequencies are divided by it (Chen et al., 2023)
  std::optional<YarnRamp> yarn = {};
  double magnitude = 1;  // cosines and sines are multiplied by it
  bool operator==(const RopeScaling&) const = default;
};

/// The pairs of dimensions that turn by the rows and the columns of pictures; the others turn by time (M-RoPE; Wang et
/// al., 2024). In texts all turn alike.
struct RopeSections {
  int time = 0, rows = 0, columns = 0;  // pairs of each
  bool is_interleaved = false;          // they take turns, in this order, as long as each has pairs left; otherwise
                                        // they lie one behind another
  bool operator==(const RopeSections&) const = default;
};

/// The list of divisors of frequencies: Llama 3's, rope_freqs.weight, or one of LongRoPE's two (Ding et al., 2024).
enum class RopeFactors : std::uint8_t { kOfAllContexts, kOfShortContexts, kOfLongContexts };

/// Rotary positions (Su et al., 2021): the rotation of a head's dimensions by the position.
struct RopeSpec {
  RopeLayout layout = RopeLayout::kHalves;
  int num_rotated = 0;  // dimensions of a head that are rotated, from the first on: an even number; 0: none
  double base = 10000;
  RopeScaling scaling = {};
  Presence factors = Presence::kAbsent;            // numbers by which frequencies are divided
  RopeFactors list = RopeFactors::kOfAllContexts;  // in which they stand
  std::optional<RopeSections> sections = {};
  bool operator==(const RopeSpec&) const = default;
};

/// Scores of a row at position p are multiplied by 1 + slope ln(1 + floor((p + offset) / length)), so that attention
/// stays sharp over long contexts (Nakanishi, 2025, in steps; Llama 4, Ministral 3).
struct AttentionTemperature {
  double slope = 0;
  int length = 1;  // positions of a step
  int offset = 0;
  bool operator==(const AttentionTemperature&) const = default;
};

enum class GateFunction : std::uint8_t { kSigmoid, kSoftplus };

/// A gate of attention's result: a function of a product of the row that Q is made of (Qiu et al., 2025).
struct OutputGate {
  GateFunction function = GateFunction::kSigmoid;
  bool is_of_heads = false;  // one number multiplies a head's whole result; otherwise each element has its own
  bool operator==(const OutputGate&) const = default;
};

/// Multi-head latent attention (DeepSeek-AI, 2024). Keys and values of all heads are products of one small row a token,
/// the latent, and a rotated part is added to keys alone, one for all heads. The memory holds both as the key of one KV
/// head, whose first part, the latent, is its value: a query meets it behind the product that makes a head's keys, and
/// the head's result goes through the one that makes its values.
struct LatentSpec {
  int rank = 0;           // of the latent
  int q_rank = 0;         // of the row that Q is made of; 0: it is made of the stream's
  int plain_dim = 0;      // of a head of Q: what meets the latent, in front of what is rotated
  int rotated_dim = 0;    // of a head of Q, and of the part that all heads share
  int value_dim = 0;      // of a head's result
  bool is_joint = false;  // files have both products of the heads in one matrix: for each head the rows that make its
                          // keys, then those that make its values
  bool operator==(const LatentSpec&) const = default;

  int q_dim() const { return plain_dim + rotated_dim; }
};

/// Attention over the keys and values of earlier tokens. Several query heads read one KV head (Ainslie et al., 2023).
struct AttentionSpec {
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;       // of Q and K
  int value_dim = 0;      // of V, and of a head's result; 0: as head_dim. Gates, and V that is K, are as wide as K
  bool is_causal = true;  // a row sees none behind it; otherwise it sees the whole sequence, which a step must have
  int window = 0;  // tokens that a row sees, its own included; 0: all before it. Of a row that is not causal: half
                   // of it on either side
  bool is_chunked = false;      // a row sees its own chunk of `window` tokens, up to itself (Meta, 2025: Llama 4)
  bool joins_pictures = false;  // a causal row of a picture sees all of that picture's rows, also those behind it, as
                                // far back as its window (Gemma Team, 2025: Gemma 3)
  float scale = 1;              // of scores
  float soft_cap = 0;           // a score s becomes soft_cap tanh(s / soft_cap); 0: it stays
  std::optional<AttentionTemperature> temperature = {};
  RopeSpec rope;
  Presence qkv_bias = Presence::kAbsent;
  Presence output_bias = Presence::kAbsent;
  Presence qk_norm = Presence::kAbsent;  // RMSNorm over each head of Q and K, before RoPE
  bool qk_norm_is_whole = false;         // over all heads of Q, and all of K, at once
  bool qk_norm_after_rope = false;       // behind the rotation of each head
  bool qk_norm_by_head = false;          // each head has weights of its own, and the norm is of the model's kind
  bool qk_norm_is_plain = false;         // over each head, without weights
  Presence sinks = Presence::kAbsent;    // a logit a head that shares in the softmax and has no value
  bool gated_output = false;  // each head's result is multiplied by the sigmoid of a gate, whose rows follow the head's
                              // own in the matrix of Q (Qiu et al., 2025)
  std::optional<OutputGate> output_gate = {};  // with a matrix of its own, attn_gate.weight
  bool v_is_k = false;                         // V is what the matrix of K gives, before K's norm and rotation
  bool v_norm = false;                         // RMSNorm over each head of V, without weights
  std::optional<int> borrows_from = {};        // the earlier layer whose keys and values it reads; none: it has its own
  std::optional<LatentSpec> latent = {};       // head_dim is its rank and what is rotated, value_dim its rank

  int v_dim() const { return value_dim > 0 ? value_dim : head_dim; }
  int q_width() const { return num_heads * head_dim; }
  int k_width() const { return num_kv_heads * head_dim; }
  int v_width() const { return num_kv_heads * v_dim(); }
  /// V has a matrix of its own.
  bool has_v() const { return !v_is_k && !latent; }
  int q_norm_width() const { return qk_norm_is_whole ? q_width() : head_dim; }
  int k_norm_width() const { return qk_norm_is_whole ? k_width() : head_dim; }
  /// Norms of Q and K that have weights of their own.
  int num_q_norms() const { return qk_norm_by_head ? num_heads : 1; }
  int num_k_norms() const { return qk_norm_by_head ? num_kv_heads : 1; }
  /// Rows of the matrix of Q.
  int q_rows() const { return latent ? num_heads * latent->q_dim() : (gated_output ? 2 : 1) * q_width(); }
  /// The width of the sums of values of all heads.
  int attended_width() const { return num_heads * v_dim(); }

  /// Rows of the gate's own matrix.
  int gate_rows() const { return !output_gate ? 0 : output_gate->is_of_heads ? num_heads : result_width(); }

  // What every mixer says of itself (LayerSpec).
  std::optional<KvLayerShape> kv_shape() const {
    return KvLayerShape{.num_kv_heads = num_kv_heads,
                        .k_dim = head_dim,
                        .v_dim = v_dim(),
                        .window = window,
                        .borrows_from = borrows_from,
                        .is_chunked = is_chunked,
                        .v_in_k = latent.has_value()};
  }
  std::size_t state_bytes() const { return 0; }
  bool writes_state() const { return !borrows_from; }
  int result_width() const { return latent ? num_heads * latent->value_dim : attended_width(); }
};

/// The most taps of a short convolution.
inline constexpr int kMaxConvolutionTaps = 8;

/// A gated delta net (Yang, Kautz and Hatamizadeh, 2024) behind a short causal convolution. Each value head has a state
/// of its own, a matrix [key_dim][value_dim] that every token decays and then corrects along its key. It reads with the
/// queries and keys of a key head, see key_head().
struct DeltaSpec {
  int num_key_heads = 0;
  int num_value_heads = 0;  // a multiple of num_key_heads
  int key_dim = 0;
  int value_dim = 0;
  int taps = 0;  // tokens that the convolution sees, its own included: 2 to kMaxConvolutionTaps
  /// The value heads of a key head lie one behind another, and files have betas and decays in one matrix: for each key
  /// head the betas of its value heads, then their decays. Otherwise key heads take turns.
  bool by_key_head = false;

  int key_head(int value_head) const {
    return by_key_head ? value_head / (num_value_heads / num_key_heads) : value_head % num_key_heads;
  }
  /// Rows of the matrix that gives decays, and betas where it does.
  int decay_rows() const { return by_key_head ? 2 * num_value_heads : num_value_heads; }
  int key_width() const { return num_key_heads * key_dim; }
  int value_width() const { return num_value_heads * value_dim; }
  /// Channels of the convolution: Q, K and V.
  int num_channels() const { return 2 * key_width() + value_width(); }
  bool operator==(const DeltaSpec&) const = default;

  // What every mixer says of itself (LayerSpec).
  std::optional<KvLayerShape> kv_shape() const { return std::nullopt; }
  std::size_t state_bytes() const;
  bool writes_state() const { return true; }
  int result_width() const { return value_width(); }
};

/// Mamba-2 (Dao and Gu, 2024) behind a short causal convolution. Each head has a state of its own, a matrix
/// [state_dim][head_dim] that every token decays and to which it adds b x^T, x being its part of the head and b its
/// group's; the result is c state + skip x. An activated gate multiplies it in front of a norm of each group's heads.
struct MambaSpec {
  int num_heads = 0;
  int head_dim = 0;
  int num_groups = 0;  // that heads read b and c of: num_heads is a multiple; heads of a group lie together
  int state_dim = 0;
  int taps = 0;  // tokens that the convolution sees, its own included: 2 to kMaxConvolutionTaps
  Presence norm = Presence::kRequired;

  int group(int head) const { return head / (num_heads / num_groups); }
  /// The width of what goes through the states, and of its gate.
  int inner_width() const { return num_heads * head_dim; }
  /// Values that are normed together.
  int norm_width() const { return inner_width() / num_groups; }
  /// Channels of the convolution: x, b of each group, c of each group.
  int num_channels() const { return inner_width() + 2 * num_groups * state_dim; }
  bool operator==(const MambaSpec&) const = default;

  // What every mixer says of itself (LayerSpec).
  std::optional<KvLayerShape> kv_shape() const { return std::nullopt; }
  std::size_t state_bytes() const;
  bool writes_state() const { return true; }
  int result_width() const { return inner_width(); }
};

/// A short causal convolution of each channel between two gates (Liquid AI, 2025: LFM2): output(c * convolution(b *
/// v)), all three products of the row.
struct ShortConvSpec {
  int width = 0;  // channels, as many as the stream has
  int taps = 0;   // tokens that it sees, its own included: 2 to kMaxConvolutionTaps
  bool operator==(const ShortConvSpec&) const = default;

  // What every mixer says of itself (LayerSpec).
  std::optional<KvLayerShape> kv_shape() const { return std::nullopt; }
  /// The last rows that the convolution has read, float32, oldest first.
  std::size_t state_bytes() const { return to_size(taps - 1) * to_size(width) * sizeof(float); }
  bool writes_state() const { return true; }
  int result_width() const { return width; }
};

/// down(activation(gate x, up x)): Shazeer, 2020.
struct DenseFfnSpec {
  int width = 0;
  Activation activation = Activation::kSilu;
  XieluNumbers xielu = {};              // of Activation::kXielu
  Presence biases = Presence::kAbsent;  // of gate, up and down
  bool has_factors = true;  // numbers beside matrices multiply their products; otherwise only those beside NVFP4 do
  bool is_gated = true;     // otherwise down(activation(up x)), and `gate` is what files call up (Vaswani et al., 2017)
  bool gate_in_up = false;  // files have both in one matrix, the gate first
  float limit = 0;          // of Activation::kSilu: silu(gate) is at most that, and up within it on both sides; 0: none
};

/// No model has experts in more groups.
inline constexpr int kMostExpertGroups = 64;

/// How the scores of a router become a choice of experts and their weights. p is the softmax of all scores, or the
/// sigmoid of each (DeepSeek-AI, 2024). The experts with the highest p, plus a bias where there is one, are chosen;
/// their weights are p without the bias.
struct RouterSpec {
  enum class Gate : std::uint8_t { kSoftmax, kSigmoid };
  Gate gate = Gate::kSoftmax;
  bool sums_to_one = true;                   // the weights of a row's experts are divided by their sum
  float weights_scale = 1;                   // of the weights, then
  Presence choice_bias = Presence::kAbsent;  // a number for each expert
  bool choice_bias_is_bare = false;          // its tensor's name has no suffix
  // Experts lie in groups of equal sizes. Those of the best groups alone are chosen from; a group is as good as its two
  // best experts together, bias and all.
  int num_groups = 1, num_groups_chosen = 1;

  friend bool operator==(const RouterSpec&, const RouterSpec&) = default;
};

/// A mixture of experts, each a gated feed-forward of its own (Shazeer et al., 2017; Fedus et al., 2021). A router
/// scores all of them for a row; the row is computed by the best ones, whose results are added, each times its weight.
struct ExpertsFfnSpec {
  int num_experts = 0;
  int num_chosen = 0;    // by each row
  int width = 0;         // of an expert
  bool is_gated = true;  // as DenseFfnSpec
  RouterSpec router = {};
  Activation activation = Activation::kSilu;
  bool has_factors = true;              // as those of DenseFfnSpec, one an expert; of the one for every row, too
  Presence biases = Presence::kAbsent;  // of the router's scores, and of each expert's gate, up and down
  int shared_width = 0;                 // of one more expert, which computes every row; 0: none
  bool shared_is_gated = true;          // its result is multiplied by the sigmoid of a product of its own
  bool shared_is_dense = false;         // its tensors are named as those of a dense feed-forward
  bool own_norms = false;  // the experts read the stream through a norm of their own, the router through another, and
                           // the mixture's result and that of the expert for every row are normed, then added
  Presence result_scales = Presence::kAbsent;  // a number for each expert, which multiplies its result
  float sum_scale = 1;                         // of the mixture's result and that of the expert for every row together
  float limit = 0, shared_limit = 0;           // as DenseFfnSpec, of experts and of the one for every row
  bool weighs_inputs = false;  // an expert's weight multiplies its input in place of its result (Meta, 2025: Llama 4)
  int latent_width =
      0;  // of the rows that experts read and give: a product of the stream's makes them, and another one
          // makes of their weighted sum a row of the stream (NVIDIA, 2025: Nemotron 3); 0: the stream's

  /// The width of the rows that experts read and give in a model of that width.
  int row_width(int of_stream) const { return latent_width > 0 ? latent_width : of_stream; }
};

/// Stands for the mixer or the feed-forward of a layer that has none, and for which the file has no tensor.
struct NoPart {
  // What every mixer says of itself (LayerSpec).
  std::optional<KvLayerShape> kv_shape() const { return std::nullopt; }
  std::size_t state_bytes() const { return 0; }
  bool writes_state() const { return false; }
  int result_width() const { return 0; }
};

/// Calls visit(spec) with a layer's mixer or feed-forward, if it has one.
template <class Part, class Visit>
void visit_part(Part& part, const Visit& visit) {
  const auto visit_one = [&](auto& spec) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(spec)>, NoPart>) visit(spec);
  };
  std::visit(visit_one, part);
}

/// x += post_norm(mixer(norm x)); x += post_norm(feed_forward(norm x)). A second mixer may stand beside the first: both
/// read norm x, and both results are added. With sum_norms: x = norm(x + mixer(x)); x =
/// norm(x + feed_forward(x)), as the first transformers (Vaswani et al., 2017; Devlin et al., 2019).
struct LayerSpec {
  std::variant<AttentionSpec, DeltaSpec, ShortConvSpec, MambaSpec, NoPart> mixer = {};
  std::optional<MambaSpec> beside = {};  // a second mixer (Falcon-H1)
  std::variant<DenseFfnSpec, ExpertsFfnSpec, NoPart> feed_forward = {};
  Presence mixer_norm = Presence::kRequired;  // of the mixer's input
  Presence ffn_norm = Presence::kRequired;    // of the feed-forward's input
  Presence norm_biases = Presence::kAbsent;   // of both, which are LayerNorm then
  bool is_parallel = false;                   // x += mixer(norm x) + feed_forward(norm x), of one norm
  bool sum_norms = false;                     // norms of the stream behind its two sums, and none of the parts' inputs
  bool post_norms = false;                    // norms of what the mixer and the feed-forward give, before their sums
  bool ffn_norm_is_post_attention = false;    // files call the feed-forward's norm post_attention_norm
  bool ffn_norm_is_mixers = false;            // or attn_norm, in a layer without a mixer
  bool ffn_norm_is_bare = false;              // or ffn_norm, without a suffix
  bool output_scale = false;                  // a number that the residual stream is multiplied with behind the layer
  std::optional<int> repeats = {};            // an earlier layer, with whose tensors it computes once more
  bool ends_pass = false;                     // the norm of the output stands behind it, too

  bool has_mixer() const { return !std::holds_alternative<NoPart>(mixer); }
  bool has_feed_forward() const { return !std::holds_alternative<NoPart>(feed_forward); }
  /// The attention of a layer that has one; nullptr for other mixers.
  const AttentionSpec* attention() const { return std::get_if<AttentionSpec>(&mixer); }
  AttentionSpec* attention() { return std::get_if<AttentionSpec>(&mixer); }
  /// The recurrence of a layer that has one; nullptr for other mixers.
  const DeltaSpec* delta() const { return std::get_if<DeltaSpec>(&mixer); }
  /// The short convolution of a layer that has one alone; nullptr for other mixers.
  const ShortConvSpec* short_conv() const { return std::get_if<ShortConvSpec>(&mixer); }
  /// The Mamba-2 of a layer that has one, alone or beside another mixer; nullptr: it has none.
  const MambaSpec* mamba() const { return beside ? &*beside : std::get_if<MambaSpec>(&mixer); }

  /// The keys and values that its mixer reads of each token, its own or another layer's; none: it reads none.
  std::optional<KvLayerShape> kv_shape() const {
    return std::visit([](const auto& spec) { return spec.kv_shape(); }, mixer);
  }
  /// Bytes of a sequence's recurrent state in it; 0: it has none.
  std::size_t state_bytes() const {
    const std::size_t of_mixer = std::visit([](const auto& spec) { return spec.state_bytes(); }, mixer);
    return of_mixer + (beside ? beside->state_bytes() : 0);
  }
  /// It leaves something for the rows behind it, which must be computed for every row.
  bool writes_state() const {
    return beside || std::visit([](const auto& spec) { return spec.writes_state(); }, mixer);
  }
  /// Columns of the matrix that gives the mixer's result; of two mixers, of the wider one.
  int result_width() const {
    const int of_mixer = std::visit([](const auto& spec) { return spec.result_width(); }, mixer);
    return beside && beside->result_width() > of_mixer ? beside->result_width() : of_mixer;
  }
};

}  // namespace octavo
