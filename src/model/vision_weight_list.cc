#include "model/vision_weight_list.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "kernels/pack.h"
#include "model/weight_need.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

std::string weight_of(std::string_view stem) { return std::string(stem) + ".weight"; }
std::string bias_of(std::string_view stem) { return std::string(stem) + ".bias"; }

class VisionLister {
 public:
  /// References must outlive it.
  VisionLister(const ModelSource& source, const VisionConfig& config, VisionWeightList& list)
      : source_(source), config_(config), list_(list) {}

  Result<void> list();

 private:
  Result<const SourceTensor*> find(const std::string& name, std::int64_t rows, std::int64_t cols, Presence presence);
  Result<void> vector(const std::string& name, std::int64_t size, Presence presence, WeightIndex& target);
  /// The rows from `first` on of a tensor with `all` rows; the same for its bias.
  struct Part {
    std::int64_t first, all;
  };
  Result<void> matrix(std::string_view stem, std::int64_t rows, std::int64_t cols, Part part, WeightIndex& target,
                      WeightIndex& bias);
  /// Lists a matrix with the bias that it may have.
  Result<void> linear(std::string_view stem, std::int64_t rows, std::int64_t cols, WeightIndex& target,
                      WeightIndex& bias) {
    return matrix(stem, rows, cols, {.first = 0, .all = rows}, target, bias);
  }
  Result<void> norm(std::string_view stem, std::int64_t size, WeightIndex& weight, WeightIndex& bias);
  /// Lists a norm without a bias.
  Result<void> weight(std::string_view stem, std::int64_t size, WeightIndex& target) {
    return vector(weight_of(stem), size, Presence::kRequired, target);
  }
  /// Lists the bounds beside a matrix.
  Result<void> clamp(const std::string& stem, ClampTensors<ListedForm>& w);
  Result<void> list_patches();
  Result<void> list_places();
  /// `p`: how names begin.
  Result<void> list_attention(const std::string& p, const AttentionSpec& spec, AttentionTensors<ListedForm>& w);
  Result<void> list_layer(int layer, VisionLayerTensors<ListedForm>& w);
  Result<void> list_clamps(int layer, LayerClampTensors<ListedForm>& w);
  Result<void> list_row_join(RowJoinTensors<ListedForm>& w);
  Result<void> list_merger(MergerTensors<ListedForm>& w);
  Result<void> list_mergers();
  Result<void> check_all_used() const;

  const ModelSource& source_;
  const VisionConfig& config_;
  VisionWeightList& list_;
  std::set<std::string_view> used_;
};

Result<const SourceTensor*> VisionLister::find(const std::string& name, std::int64_t rows, std::int64_t cols,
                                               Presence presence) {
  const SourceTensor* tensor = source_.find_tensor(name);
  if (tensor == nullptr) {
    if (presence != Presence::kRequired) return nullptr;
    return fail("{}: no tensor {}, which vision encoders of the family {} need", source_.name(), name, config_.family);
  }
  if (tensor->tensor.rows != rows || tensor->tensor.cols != cols)
    return fail("{}: tensor {} has {} rows of {}, expected {} rows of {} by the metadata of {}", source_.name(), name,
                tensor->tensor.rows, tensor->tensor.cols, rows, cols, config_.family);
  used_.insert(tensor->name);
  return tensor;
}

Result<void> VisionLister::vector(const std::string& name, std::int64_t size, Presence presence, WeightIndex& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, 1, size, presence));
  if (tensor == nullptr) return {};
  list_.vectors.push_back({.source = tensor});
  target.value = static_cast<int>(list_.vectors.size()) - 1;
  return {};
}

Result<void> VisionLister::matrix(std::string_view stem, std::int64_t rows, std::int64_t cols, Part part,
                                  WeightIndex& target, WeightIndex& bias) {
  OCTAVO_TRY(const SourceTensor* tensor, find(weight_of(stem), part.all, cols, Presence::kRequired));
  list_.matrices.push_back(
      {.source = tensor, .type = tensor->tensor.type, .rows = rows, .cols = cols, .first_row = part.first});
  target.value = static_cast<int>(list_.matrices.size()) - 1;
  if (config_.clamps) return {};  // bounded products have no biases
  OCTAVO_TRY_VOID(vector(bias_of(stem), part.all, Presence::kOptional, bias));
  if (!is_present(bias)) return {};
  list_.vectors.back().first = part.first;
  list_.vectors.back().size = rows;
  return {};
}

Result<void> VisionLister::norm(std::string_view stem, std::int64_t size, WeightIndex& weight, WeightIndex& bias) {
  OCTAVO_TRY_VOID(vector(weight_of(stem), size, Presence::kRequired, weight));
  if (config_.norm == NormKind::kRms) return {};
  return vector(bias_of(stem), size, Presence::kOptional, bias);
}

/// Lists the kernels of patches, matrices whose rows mostly lie in pieces: a dimension for each axis of the patch.
Result<void> VisionLister::list_patches() {
  const std::string_view names[] = {vision_names::kPatches, vision_names::kLaterPatches};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const std::int64_t cols = config_.has_patch_rows ? config_.patch_width() : config_.patch_side;
    OCTAVO_TRY(const SourceTensor* tensor,
               find(std::string(names[i]), std::int64_t{config_.width} * config_.patch_width() / cols, cols,
                    i == 0 ? Presence::kRequired : Presence::kOptional));
    list_.patch_kernels[i] = tensor;
    if (tensor != nullptr && !is_plain_float(tensor->tensor.type))
      return fail("{}: tensor {} is {}, expected F32, F16 or BF16", source_.name(), tensor->name,
                  dtype_info(tensor->tensor.type).name);
  }
  VisionTensors<ListedForm>& w = list_.tensors;
  OCTAVO_TRY_VOID(vector(std::string(vision_names::kPatchBias), config_.width, Presence::kOptional, w.patch_bias));
  const PatchNorms& norms = config_.patch_norms;
  if (!norms.pixels.empty())
    OCTAVO_TRY_VOID(norm(norms.pixels, config_.patch_width(), w.pixel_norm, w.pixel_norm_bias));
  if (!norms.product.empty()) OCTAVO_TRY_VOID(norm(norms.product, config_.width, w.product_norm, w.product_norm_bias));
  if (!norms.placed.empty()) OCTAVO_TRY_VOID(norm(norms.placed, config_.width, w.placed_norm, w.placed_norm_bias));
  // The text model has the same vector itself.
  OCTAVO_TRY_VOID(find(std::string(vision_names::kBreakEmbedding), 1, config_.text_width, Presence::kOptional));
  return list_places();
}

Result<void> VisionLister::list_places() {
  if (config_.places == LearnedPlaces::kNone) return {};
  const std::int64_t lines = config_.places == LearnedPlaces::kTables ? 2 : config_.grid_side;
  const std::int64_t places = lines * config_.grid_side;
  OCTAVO_TRY(const SourceTensor* positions,
             find(std::string(vision_names::kPositions), places, config_.width, Presence::kRequired));
  list_.vectors.push_back({.source = positions});
  list_.tensors.positions.value = static_cast<int>(list_.vectors.size()) - 1;
  return {};
}

Result<void> VisionLister::clamp(const std::string& stem, ClampTensors<ListedForm>& w) {
  OCTAVO_TRY_VOID(vector(stem + std::string(vision_names::kInputMin), 1, Presence::kRequired, w.input_min));
  OCTAVO_TRY_VOID(vector(stem + std::string(vision_names::kInputMax), 1, Presence::kRequired, w.input_max));
  OCTAVO_TRY_VOID(vector(stem + std::string(vision_names::kOutputMin), 1, Presence::kRequired, w.output_min));
  return vector(stem + std::string(vision_names::kOutputMax), 1, Presence::kRequired, w.output_max);
}

Result<void> VisionLister::list_clamps(int layer, LayerClampTensors<ListedForm>& w) {
  const std::pair<std::string_view, ClampTensors<ListedForm>*> all[] = {
      {vision_names::kQ, &w.q},       {vision_names::kK, &w.k},
      {vision_names::kV, &w.v},       {vision_names::kAttentionOutput, &w.o},
      {vision_names::kGate, &w.gate}, {vision_names::kUp, &w.up},
      {vision_names::kDown, &w.down}};
  for (const auto& [stem, target] : all) OCTAVO_TRY_VOID(clamp(vision_names::of_layer(layer, stem), *target));
  return {};
}

/// Lists Q, K and V, which have a tensor each, or are the rows of one.
Result<void> VisionLister::list_attention(const std::string& p, const AttentionSpec& spec,
                                          AttentionTensors<ListedForm>& w) {
  const auto name = [&p](std::string_view stem) { return p + std::string(stem); };
  const std::string fused = name(vision_names::kQkv);
  if (source_.find_tensor(weight_of(fused)) != nullptr) {
    const std::int64_t all = std::int64_t{spec.q_width()} + spec.k_width() + spec.v_width();
    const std::int64_t k = spec.q_width(), v = k + spec.k_width();
    OCTAVO_TRY_VOID(matrix(fused, spec.q_width(), config_.width, {.first = 0, .all = all}, w.q, w.q_bias));
    OCTAVO_TRY_VOID(matrix(fused, spec.k_width(), config_.width, {.first = k, .all = all}, w.k, w.k_bias));
    OCTAVO_TRY_VOID(matrix(fused, spec.v_width(), config_.width, {.first = v, .all = all}, w.v, w.v_bias));
  } else {
    OCTAVO_TRY_VOID(linear(name(vision_names::kQ), spec.q_width(), config_.width, w.q, w.q_bias));
    OCTAVO_TRY_VOID(linear(name(vision_names::kK), spec.k_width(), config_.width, w.k, w.k_bias));
    OCTAVO_TRY_VOID(linear(name(vision_names::kV), spec.v_width(), config_.width, w.v, w.v_bias));
  }
  if (spec.qk_norm != Presence::kAbsent) {
    OCTAVO_TRY_VOID(weight(name(vision_names::kQNorm), spec.head_dim, w.q_norm));
    OCTAVO_TRY_VOID(weight(name(vision_names::kKNorm), spec.head_dim, w.k_norm));
  }
  return linear(name(vision_names::kAttentionOutput), config_.width, spec.result_width(), w.o, w.o_bias);
}

Result<void> VisionLister::list_layer(int layer, VisionLayerTensors<ListedForm>& w) {
  const auto name = [layer](std::string_view stem) { return vision_names::of_layer(layer, stem); };
  const LayerSpec& spec = config_.layers[to_size(layer)];
  const auto& dense = std::get<DenseFfnSpec>(spec.feed_forward);
  const std::int64_t ffn = dense.width;
  OCTAVO_TRY_VOID(norm(name(vision_names::kMixerNorm), config_.width, w.mixer_norm, w.mixer_norm_bias));
  OCTAVO_TRY_VOID(list_attention(name(""), *spec.attention(), w.attention));
  OCTAVO_TRY_VOID(norm(name(vision_names::kFfnNorm), config_.width, w.ffn_norm, w.ffn_norm_bias));
  DenseFfnTensors<ListedForm>& f = w.feed_forward;
  const std::string_view up = config_.swaps_ffn ? vision_names::kDown : vision_names::kUp;
  const std::string_view down = config_.swaps_ffn ? vision_names::kUp : vision_names::kDown;
  OCTAVO_TRY_VOID(linear(name(dense.is_gated ? vision_names::kGate : up), ffn, config_.width, f.gate, f.gate_bias));
  if (dense.is_gated) OCTAVO_TRY_VOID(linear(name(up), ffn, config_.width, f.up, f.up_bias));
  if (spec.post_norms) {
    OCTAVO_TRY_VOID(weight(name(vision_names::kMixerPostNorm), config_.width, w.mixer_post_norm));
    OCTAVO_TRY_VOID(weight(name(vision_names::kFfnPostNorm), config_.width, w.ffn_post_norm));
  }
  if (config_.clamps) OCTAVO_TRY_VOID(list_clamps(layer, w.clamps));
  return linear(name(down), config_.width, ffn, f.down, f.down_bias);
}

Result<void> VisionLister::list_row_join(RowJoinTensors<ListedForm>& w) {
  const std::string p(vision_names::kRowJoin);
  const auto name = [&p](std::string_view stem) { return p + std::string(stem); };
  const std::int64_t joined = std::int64_t{RowJoinSpec::kRows} * config_.width, hidden = config_.row_join.hidden_width;
  OCTAVO_TRY_VOID(norm(name(vision_names::kMixerNorm), config_.width, w.mixer_norm, w.mixer_norm_bias));
  OCTAVO_TRY_VOID(list_attention(p, config_.attention(), w.attention));
  OCTAVO_TRY_VOID(norm(name(vision_names::kRowJoinNorm), joined, w.norm, w.norm_bias));
  OCTAVO_TRY_VOID(linear(name(vision_names::kRowJoinUp), hidden, joined, w.up, w.up_bias));
  return linear(name(vision_names::kRowJoinDown), config_.width, hidden, w.down, w.down_bias);
}

Result<void> VisionLister::list_merger(MergerTensors<ListedForm>& w) {
  const MergerSpec& spec = config_.merger;
  const std::int64_t merged = config_.merged_width(), projected = config_.projected_width();
  if (!spec.patch_norm.empty()) OCTAVO_TRY_VOID(norm(spec.patch_norm, config_.width, w.norm, w.norm_bias));
  if (spec.standardizes) {
    OCTAVO_TRY_VOID(vector(std::string(vision_names::kStandardBias), merged, Presence::kRequired, w.standard_bias));
    OCTAVO_TRY_VOID(vector(std::string(vision_names::kStandardScale), merged, Presence::kRequired, w.standard_scale));
  }
  if (!spec.joined_norm.empty() && spec.joined_kind == NormKind::kRms)
    OCTAVO_TRY_VOID(weight(spec.joined_norm, merged, w.joined_norm));
  if (!spec.joined_norm.empty() && spec.joined_kind == NormKind::kLayer)
    OCTAVO_TRY_VOID(norm(spec.joined_norm, merged, w.joined_norm, w.joined_norm_bias));
  WeightIndex no_bias;
  if (!spec.reduce.empty()) OCTAVO_TRY_VOID(linear(spec.reduce, config_.width, merged, w.reduce, no_bias));
  if (is_present(no_bias)) return fail("{}: tensor {} is not expected", source_.name(), bias_of(spec.reduce));
  if (spec.down_is_transposed) {
    OCTAVO_TRY(list_.transposed_down, find(weight_of(spec.down), projected, config_.text_width, Presence::kRequired));
    return {};
  }
  if (spec.hidden_width == 0) return linear(spec.down, config_.text_width, projected, w.down, w.down_bias);
  OCTAVO_TRY_VOID(linear(spec.up, spec.hidden_width, projected, w.up, w.up_bias));
  if (!spec.between.empty())
    OCTAVO_TRY_VOID(linear(spec.between, spec.hidden_width, spec.hidden_width, w.between, no_bias));
  if (is_present(no_bias)) return fail("{}: tensor {} is not expected", source_.name(), bias_of(spec.between));
  return linear(spec.down, config_.text_width, spec.hidden_width, w.down, w.down_bias);
}

Result<void> VisionLister::list_mergers() {
  const std::int64_t merged = config_.merged_width();
  for (const int layer : config_.deepstack_layers) {
    const auto name = [layer](std::string_view stem) { return vision_names::of_deepstack(layer, stem); };
    MergerTensors<ListedForm>& w = list_.tensors.deepstack.emplace_back();
    OCTAVO_TRY_VOID(norm(name(vision_names::kDeepstackNorm), merged, w.norm, w.norm_bias));
    OCTAVO_TRY_VOID(linear(name(vision_names::kDeepstackUp), merged, merged, w.up, w.up_bias));
    OCTAVO_TRY_VOID(linear(name(vision_names::kDeepstackDown), config_.text_width, merged, w.down, w.down_bias));
  }
  return list_merger(list_.tensors.merger);
}

Result<void> VisionLister::check_all_used() const {
  const auto is_of_sound = [](std::string_view name) {
    return std::ranges::any_of(vision_names::kOfSound,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
  };
  for (const SourceTensor& tensor : source_.tensors())
    if (!used_.contains(tensor.name) && !is_of_sound(tensor.name))
      return fail("{}: tensor {} is not part of a vision encoder of the family {} as Octavo knows it", source_.name(),
                  quote(tensor.name), config_.family);
  return {};
}

Result<void> VisionLister::list() {
  OCTAVO_TRY_VOID(list_patches());
  list_.tensors.layers.resize(config_.layers.size());
  for (std::size_t i = 0; i < config_.layers.size(); ++i)
    OCTAVO_TRY_VOID(list_layer(static_cast<int>(i), list_.tensors.layers[i]));
  if (config_.joins_rows()) OCTAVO_TRY_VOID(list_row_join(list_.tensors.row_join));
  OCTAVO_TRY_VOID(list_mergers());
  return check_all_used();
}

}  // namespace

Result<VisionWeightList> VisionWeightList::create(const ModelSource& source, const VisionConfig& config) {
  VisionWeightList list;
  OCTAVO_TRY_VOID(VisionLister(source, config, list).list());
  return list;
}

std::uint64_t VisionWeightList::bytes(const VisionConfig& config) const {
  std::uint64_t sum = packed_bytes(DType::kF32, config.width, config.patch_width());
  if (transposed_down != nullptr) sum += packed_bytes(DType::kF32, config.text_width, config.projected_width());
  for (const ListedVector& v : vectors) sum += sizeof(float) * vector_floats(v.num_floats());
  for (const ListedMatrix& m : matrices) sum += packed_bytes(m.type, m.rows, m.cols);
  return sum;
}

}  // namespace octavo
