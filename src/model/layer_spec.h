// One layer of a model, described: its shapes and choices, grouped by part.
//
// An architecture (model/architectures/) reads a file's keys into specs. Weights, memory, the counting of work and the
// forward pass walk them, and derive nothing a second time. A default is the common case, so that a new field costs no
// edit where it is not set. Sizes are in elements.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

namespace octavo {

enum class RopeLayout : std::uint8_t { kNeighbours, kHalves };  // element 2i with 2i + 1, or i with i + num_rotated / 2
enum class Activation : std::uint8_t { kSilu, kGeluTanh };
enum class Presence : std::uint8_t { kAbsent, kOptional, kRequired };

/// YaRN (Peng et al., 2023): pairs of dimensions that turn fast_turns times and more within the original context turn
/// as before, those that turn slow_turns times or less are slowed by the whole divisor, and the ones between by a part.
struct YarnRamp {
  int original_context = 0;  // tokens, before the context was stretched
  double fast_turns = 32;
  double slow_turns = 1;
  double strength = 1;  // 1: as in the paper; 0: all are slowed
  bool operator==(const YarnRamp&) const = default;
};

/// How a context is stretched.
struct RopeScaling {
  double divisor = 1;  // frequencies are divided by it (Chen et al., 2023)
  std::optional<YarnRamp> yarn = {};
  double magnitude = 1;  // cosines and sines are multiplied by it
  bool operator==(const RopeScaling&) const = default;
};

/// Rotary positions (Su et al., 2021): the rotation of a head's dimensions by the position.
struct RopeSpec {
  RopeLayout layout = RopeLayout::kHalves;
  int num_rotated = 0;  // dimensions of a head that are rotated, from the first on: an even number
  double base = 10000;
  RopeScaling scaling = {};
  Presence factors = Presence::kAbsent;  // rope_freqs.weight, by which frequencies are divided (Llama 3)
  bool operator==(const RopeSpec&) const = default;
};

/// Attention over the keys and values of earlier tokens. Several query heads read one KV head (Ainslie et al., 2023).
struct AttentionSpec {
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int window = 0;   // tokens that a row sees, its own included; 0: all before it
  float scale = 1;  // of scores
  RopeSpec rope;
  Presence qkv_bias = Presence::kAbsent;
  Presence qk_norm = Presence::kAbsent;  // RMSNorm over each head of Q and K, before RoPE
  std::optional<int> borrows_from = {};  // the earlier layer whose keys and values it reads; none: it has its own

  int q_width() const { return num_heads * head_dim; }
  int kv_width() const { return num_kv_heads * head_dim; }
};

/// down(activation(gate x) * (up x)): Shazeer, 2020.
struct DenseFfnSpec {
  int width = 0;
  Activation activation = Activation::kSilu;
};

/// A mixture of experts, each a gated feed-forward of its own (Shazeer et al., 2017; Fedus et al., 2021). A router
/// scores all of them for a row; the row is computed by the best ones, whose results are added, each times its weight:
/// the softmax of the chosen scores. (A softmax of all scores, divided by the sum of those chosen, is the same.)
struct ExpertsFfnSpec {
  int num_experts = 0;
  int num_chosen = 0;  // by each row
  int width = 0;       // of an expert
  Activation activation = Activation::kSilu;
  float weights_scale = 1;  // of the weights behind the softmax
};

/// x += post_norm(mixer(norm x)); x += post_norm(feed_forward(norm x)).
struct LayerSpec {
  std::variant<AttentionSpec> mixer = {};
  std::variant<DenseFfnSpec, ExpertsFfnSpec> feed_forward = {};
  bool post_norms = false;  // norms of what the mixer and the feed-forward give, before their sums

  /// The attention of a layer that has one; nullptr for other mixers.
  const AttentionSpec* attention() const { return std::get_if<AttentionSpec>(&mixer); }
  AttentionSpec* attention() { return std::get_if<AttentionSpec>(&mixer); }
  /// It leaves something for the rows behind it, which must be computed for every row.
  bool writes_state() const { return attention() != nullptr && !attention()->borrows_from; }
};

}  // namespace octavo
