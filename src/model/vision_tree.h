// The weights of a vision encoder by their use: a tree like a model's (weight_tree.h), in the same forms.
#pragma once

#include <tuple>
#include <vector>

#include "model/weight_tree.h"

namespace octavo {

/// The tensors of a MergerSpec, or of a DeepStack merger. Biases may be absent.
template <class Form>
struct MergerTensors {
  typename Form::Vector norm{}, norm_bias{};  // [width] on each patch, or [merged width] after the joining
  typename Form::Vector standard_bias{}, standard_scale{};  // [merged width]
  typename Form::Vector joined_norm{}, joined_norm_bias{};  // [merged width]
  typename Form::Matrix reduce{};                           // [width, merged width]; mostly absent
  typename Form::Matrix up{};         // [hidden width, projected width]; absent where there is one product
  typename Form::Vector up_bias{};    // [hidden width]
  typename Form::Matrix down{};       // [text width, hidden width or projected width]
  typename Form::Vector down_bias{};  // [text width]
  typename Form::Matrix between{};    // [hidden width, hidden width]; mostly absent

  static constexpr auto members() {
    using W = MergerTensors;
    return std::tuple(&W::norm, &W::norm_bias, &W::standard_bias, &W::standard_scale, &W::joined_norm,
                      &W::joined_norm_bias, &W::reduce, &W::up, &W::up_bias, &W::down, &W::down_bias, &W::between);
  }
};

/// The bounds of a product's inputs and outputs, one number each; absent: there are none.
template <class Form>
struct ClampTensors {
  typename Form::Vector input_min{}, input_max{}, output_min{}, output_max{};

  static constexpr auto members() {
    using W = ClampTensors;
    return std::tuple(&W::input_min, &W::input_max, &W::output_min, &W::output_max);
  }
};

/// The bounds of a layer's products.
template <class Form>
struct LayerClampTensors {
  ClampTensors<Form> q{}, k{}, v{}, o{}, gate{}, up{}, down{};

  static constexpr auto members() {
    using W = LayerClampTensors;
    return std::tuple(&W::q, &W::k, &W::v, &W::o, &W::gate, &W::up, &W::down);
  }
};

/// The tensors of a layer; biases may be absent.
template <class Form>
struct VisionLayerTensors {
  typename Form::Vector mixer_norm{}, mixer_norm_bias{};  // [width]
  AttentionTensors<Form> attention{};
  typename Form::Vector mixer_post_norm{};            // [width], of what attention gives; may be absent
  typename Form::Vector ffn_norm{}, ffn_norm_bias{};  // [width]
  DenseFfnTensors<Form> feed_forward{};
  typename Form::Vector ffn_post_norm{};  // [width], of what the feed-forward gives; may be absent
  LayerClampTensors<Form> clamps{};

  static constexpr auto members() {
    using W = VisionLayerTensors;
    return std::tuple(&W::mixer_norm, &W::mixer_norm_bias, &W::attention, &W::mixer_post_norm, &W::ffn_norm,
                      &W::ffn_norm_bias, &W::feed_forward, &W::ffn_post_norm, &W::clamps);
  }
};

/// The tensors of a RowJoinSpec; biases may be absent.
template <class Form>
struct RowJoinTensors {
  typename Form::Vector mixer_norm{}, mixer_norm_bias{};  // [width]
  AttentionTensors<Form> attention{};
  typename Form::Vector norm{}, norm_bias{};  // [4 x width], of joined rows
  typename Form::Matrix up{};                 // [hidden width, 4 x width]
  typename Form::Vector up_bias{};            // [hidden width]
  typename Form::Matrix down{};               // [width, hidden width]
  typename Form::Vector down_bias{};          // [width]

  static constexpr auto members() {
    using W = RowJoinTensors;
    return std::tuple(&W::mixer_norm, &W::mixer_norm_bias, &W::attention, &W::norm, &W::norm_bias, &W::up, &W::up_bias,
                      &W::down, &W::down_bias);
  }
};

/// The tensors of a VisionConfig without the matrix of patches, which files have in parts.
template <class Form>
struct VisionTensors {
  typename Form::Vector pixel_norm{}, pixel_norm_bias{};      // [patch width], as the next two mostly absent
  typename Form::Vector patch_bias{};                         // [width]; may be absent
  typename Form::Vector product_norm{}, product_norm_bias{};  // [width]
  /// Of LearnedPlaces: [grid_side][grid_side][width], row by row of the square; or [2][grid_side][width], the table of
  /// columns first.
  typename Form::Vector positions{};
  typename Form::Vector placed_norm{}, placed_norm_bias{};  // [width]; mostly absent
  std::vector<VisionLayerTensors<Form>> layers{};
  RowJoinTensors<Form> row_join{};  // absent where rows are not joined
  MergerTensors<Form> merger{};
  std::vector<MergerTensors<Form>> deepstack{};  // [deepstack_layers]
};

}  // namespace octavo
