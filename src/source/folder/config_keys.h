// Keys of config.json that several families share, as GGUF's. Errors name the file and the key.
#pragma once

#include <span>
#include <vector>

#include "base/math.h"
#include "source/folder/family.h"

namespace octavo {

/// Members that must be there and are sizes, each with its GGUF name.
struct SizeName {
  std::string_view from, to;
};
Result<void> add_named_sizes(const FamilyKeys& keys, std::span<const SizeName> names);
using Names = std::initializer_list<std::string_view>;
/// Layers, width, heads, vocabulary and norms' epsilon. Error: one is missing, or something that changes what the model
/// computes has a value that is not supported; `activations` are the functions of a feed-forward that are.
Result<void> add_sizes(const FamilyKeys& keys, Names activations = {"silu", "swish", "gelu_pytorch_tanh"});
/// The keys of add_sizes() without the number of heads, for families whose layers have others.
Result<void> add_sizes_but_heads(const FamilyKeys& keys, Names activations = {"silu", "swish", "gelu_pytorch_tanh"});
/// Heads of keys and values, and the length of all heads; and with them a feed-forward that is alike in all layers.
Result<void> add_head_sizes(const FamilyKeys& keys);
Result<void> add_equal_parts(const FamilyKeys& keys);
/// The keys of add_sizes() and add_equal_parts(), as in most families.
Result<void> add_common_keys(const FamilyKeys& keys, Names activations = {"silu", "swish", "gelu_pytorch_tanh"});
/// The base of the rotation's angles, and how they are stretched.
Result<void> add_angle_keys(const FamilyKeys& keys);
/// The rotation of positions: rope_parameters as transformers 5 writes them, or rope_theta and rope_scaling. Llama 3's
/// factors are no keys: rope_factors() gives them.
/// `rotated`: the part of a head that is, where config.json does not say.
Result<void> add_rope_keys(const FamilyKeys& keys, double rotated = 1);
/// The bases of the rotation in layers that see all and in those with a window, which are others.
Result<void> add_rope_bases(const FamilyKeys& keys);
/// Both.
Result<void> add_dense_keys(const FamilyKeys& keys);
/// The context, no longer than a window that every layer has: within it the window changes nothing.
Result<void> add_context(const FamilyKeys& keys, std::optional<std::uint64_t> window = {});
/// The KV heads of each layer, 0 where it does not attend.
Result<void> add_kv_heads(const FamilyKeys& keys, const std::vector<bool>& attends);
/// A window that some layers have.
Result<void> add_window(const FamilyKeys& keys);
/// The window of the layers that layer_types gives one, if any; and their rotation, which is plain: its base, and the
/// dimensions of a head that it turns.
Result<void> add_windows(const FamilyKeys& keys);
/// Counts of a mixture under the names that this family gives them.
struct MixtureNames {
  std::string_view num_experts, num_chosen, width;
};
Result<void> add_mixture_keys(const FamilyKeys& keys, const MixtureNames& names);
/// The groups that experts lie in, if any.
Result<void> add_expert_groups(const FamilyKeys& keys);
/// The values of expert_gating_func.
inline constexpr std::uint64_t kSoftmaxRouter = 1, kSigmoidRouter = 2;
/// The member that counts the experts, which transformers 5 saves as num_local_experts where 4 had num_experts.
std::string_view name_of_experts(const JsonObject& config);

/// Checks that a member has the supported value, or is missing.
Result<void> require_flag(const FamilyKeys& keys, std::string_view name, bool supported);
Result<void> require_text(const FamilyKeys& keys, std::string_view name,
                          std::initializer_list<std::string_view> supported);
Result<void> require_number(const FamilyKeys& keys, std::string_view name, double supported);

/// The layer_types, one for each layer; empty: there are none. Error: an unknown kind, or another number of them.
Result<std::vector<std::string_view>> layer_kinds(const JsonObject& config,
                                                  std::initializer_list<std::string_view> known);
/// Error: config.json has other kinds than these: of every `period` layers the last one sees all of the context.
Result<void> check_kinds_of_layers(const FamilyKeys& keys, std::uint64_t period);

inline constexpr std::uint64_t kMostModelSize = std::uint64_t{1} << 24;     // of anything that config.json counts
inline constexpr std::uint64_t kMostLayers = 4096, kLongestHead = 1 << 16;  // a head's length is in dimensions

/// The number of layers, at most kMostLayers.
Result<std::uint64_t> number_of_layers(const JsonObject& config, std::string_view name = "num_hidden_layers");

/// A head's length that a member gives. Error: it is above kLongestHead.
Result<std::uint64_t> check_head_length(const JsonObject& config, std::string_view name, std::uint64_t length);
/// The length of a head in dimensions. Error: it is above kLongestHead.
Result<std::uint64_t> head_length(const JsonObject& config);

/// The object that says how positions are rotated, of a kind of layer ("full_attention") where each has its own; none:
/// config.json has the base alone.
Result<std::optional<JsonObject>> rope_object(const JsonObject& config, std::string_view kind_of_layer = {});
/// A number of the rotation, which stands in that object or beside it; none: in neither.
Result<std::optional<double>> rope_number(const JsonObject& config, std::string_view name,
                                          std::string_view kind_of_layer = {});
/// The dimensions of a head that are rotated, of which `part` is the share.
std::uint64_t rotated_dims(double part, std::uint64_t head);
/// Divisors of frequencies of a head in layers that see all, of which a part of the pairs is rotated.
Result<std::vector<float>> proportional_rope_factors(const JsonObject& config, std::uint64_t head);
/// Divisors of frequencies by which Llama 3.1 stretches its context, one for each pair of `rotated` dimensions; empty:
/// the positions are stretched in another way, or not at all. Error: one is wrong, or there is no base.
Result<std::vector<float>> llama3_factors(const JsonObject& rope, std::optional<double> base, std::uint64_t rotated,
                                          Math math);
/// The factors of llama3_factors() for heads that are rotated as a whole.
Result<std::vector<float>> rope_factors(const JsonObject& config, Math math);

}  // namespace octavo
