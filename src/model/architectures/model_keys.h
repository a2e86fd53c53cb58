// The hyperparameters of a file, "ARCHITECTURE.suffix", read and checked; and the parts of a layer that families share.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/math.h"
#include "model/config.h"
#include "source/model_source.h"

namespace octavo {

/// No size of a model comes near; it keeps every product of two within 64 bits.
inline constexpr int kMaxModelSize = 1 << 24;

/// Errors name the file, the key, what was found and what was expected. One thread at a time.
class ModelKeys {
 public:
  /// Both must outlive it.
  ModelKeys(const ModelSource& source, std::string_view architecture, Math math = Math(), int context = 0)
      : source_(source), architecture_(architecture), math_(math), context_(context) {}

  const ModelSource& source() const { return source_; }
  /// The functions that the config's numbers are computed with.
  Math math() const { return math_; }
  /// The tokens of the longest sequence that is served; 0: as many as the model was trained for.
  int served_context() const { return context_; }
  std::string path() const { return source_.name(); }
  std::string key(std::string_view suffix) const;
  /// True if the file has the key. Asking for it counts as reading it.
  bool has(std::string_view suffix) const;

  /// 1 to `most`.
  Result<int> size(std::string_view suffix, int most = kMaxModelSize) const;
  Result<int> size_or(std::string_view suffix, int otherwise) const;
  /// A size for each of `count` layers, `least` or more: one for all of them, or an array of as many, behind which may
  /// stand those of the layers of prediction.
  Result<std::vector<int>> sizes(std::string_view suffix, int count, int least = 1) const;
  /// 0 to `most`.
  Result<int> count(std::string_view suffix, int most = kMaxModelSize) const;
  /// A finite number above 0.
  Result<double> positive(std::string_view suffix) const;
  /// A finite number, 0 or more.
  Result<double> not_negative(std::string_view suffix) const;
  Result<double> positive_or(std::string_view suffix, double otherwise) const;
  Result<std::string_view> text(std::string_view suffix) const;
  /// A number for each of `count` layers, as sizes() has them.
  Result<std::vector<float>> numbers(std::string_view suffix, int count) const;
  /// A flag for each of `count` layers, as sizes() has them. A flag is a bool, or 0 or 1 of any type of integers.
  Result<std::vector<bool>> flags(std::string_view suffix, int count) const;

  /// Layers behind the model's that predict further tokens: fewer than `num_in_file`, the file's layers in all.
  Result<int> num_prediction_layers(int num_in_file) const;

  /// Keys that change what a model computes, and that nobody has asked for, must have the value that changes
  /// nothing.
  Result<void> refuse_unread_mathematics() const;

 private:
  /// Whether an array has a number for each of `count` layers, or for those and the layers of prediction.
  bool is_for_layers(std::size_t size, int count) const;

  const ModelSource& source_;
  std::string_view architecture_;
  Math math_;
  int context_;
  mutable std::set<std::string, std::less<>> read_;  // suffixes
};

/// Whether a layer of the file has a tensor of that name.
bool has_layer_tensor(const ModelKeys& keys, int layer, std::string_view name);

/// The names of the keys of a head's dimensions.
struct HeadKeys {
  std::string_view key_length = "attention.key_length", value_length = "attention.value_length";
};
/// The dimensions of a layer's heads, whose numbers are set already, and the scale of their scores; all checked against
/// each other.
Result<void> read_head_dim(const ModelKeys& keys, const ModelConfig& config, const HeadKeys& names,
                           AttentionSpec& attention);

/// Heads and rotary positions of a transformer's layer, as all files name them; Q, K and V may have biases, whatever
/// the family. `default_rope_base`: for families whose files leave rope.freq_base out; none: it must be there.
Result<AttentionSpec> read_attention(const ModelKeys& keys, const ModelConfig& config, int num_heads, int num_kv_heads,
                                     std::optional<double> default_rope_base);

/// The attention of each layer, whose numbers of heads the file may have in arrays.
Result<std::vector<AttentionSpec>> read_attentions(const ModelKeys& keys, const ModelConfig& config);

/// The layer with such attention and the file's numbers of heads. The family sets the feed-forward, and what else is
/// its own.
Result<LayerSpec> read_attention_layer(const ModelKeys& keys, const ModelConfig& config,
                                       std::optional<double> default_rope_base = {});

/// The layer with the feed-forward of a dense transformer.
Result<LayerSpec> read_dense_layer(const ModelKeys& keys, const ModelConfig& config,
                                   std::optional<double> default_rope_base = {});

/// The first layers that add further vectors of pictures (n_deepstack_layers), 0 where the file names none.
Result<int> read_num_deepstack(const ModelKeys& keys, int num_layers);

/// The number of the file's layers, which its tensors are enough for.
Result<int> read_block_count(const ModelKeys& keys);

/// The model's layers, all alike. Layers of prediction behind them are counted as skipped.
Result<void> read_equal_layers(const ModelKeys& keys, const LayerSpec& layer, ModelConfig& config);

/// The layer of each n that has no window, where a pattern is the number n.
enum class GlobalLayer : std::uint8_t { kFirst, kLast };

/// Which of `num_layers` layers have a window, [num_layers]. The file's pattern is a flag for each, or a number n: one
/// of each n layers has none, the family's first or last; 0: all have one. `global_every`: that number for families
/// whose files leave it out; none: the pattern must be there.
Result<std::vector<bool>> read_window_pattern(const ModelKeys& keys, std::optional<int> global_every, int num_layers,
                                              GlobalLayer global = GlobalLayer::kLast);

/// For families of which each fourth layer sees all where the file has no pattern.
inline constexpr int kGlobalLayerOfFour = 4;

/// Whether the file names a window; 0 is none.
Result<bool> has_windows(const ModelKeys& keys);

/// Gives the file's window to the layers of its pattern. `default_window`: for families whose files leave it out; none:
/// it must be there.
Result<void> read_windows(const ModelKeys& keys, int global_every, std::optional<int> default_window,
                          std::vector<LayerSpec>& layers, GlobalLayer global = GlobalLayer::kLast);
/// The same, of a family whose windowed layers rotate without the model's stretch, by a base and in a number of
/// dimensions of their own where the file has them.
Result<void> read_windows_of_plain_positions(const ModelKeys& keys, int global_every, std::vector<LayerSpec>& layers,
                                             GlobalLayer global = GlobalLayer::kLast);
/// Rotates nothing in the layers without a window.
void forget_positions_of_global_layers(std::vector<LayerSpec>& layers);

/// Numbers beside the matrices of the layer's feed-forward multiply nothing, as in llama.cpp's graph of most families.
void take_no_factors_of_feed_forward(LayerSpec& layer);
void take_no_factors_of_feed_forwards(ModelConfig& config);

/// The layer's parts read the stream as it is, and their results are normed.
void norm_results_alone(LayerSpec& layer);

}  // namespace octavo
