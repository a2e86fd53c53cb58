// The weights of a vision encoder by their use: a tree like a model's (weight_tree.h), in the same forms.
#pragma once

#include <tuple>
#include <vector>

#include "model/weight_tree.h"

namespace octavo {

/// The tensors that make tokens of joined patches: down(gelu(up norm(x))). Biases may be absent.
template <class Form>
struct MergerTensors {
  typename Form::Vector norm{}, norm_bias{};  // [width] on each patch, or [merged width] after the joining
  typename Form::Matrix up{};                 // [merged width, merged width]
  typename Form::Vector up_bias{};            // [merged width]
  typename Form::Matrix down{};               // [text width, merged width]
  typename Form::Vector down_bias{};          // [text width]

  static constexpr auto members() {
    using W = MergerTensors;
    return std::tuple(&W::norm, &W::norm_bias, &W::up, &W::up_bias, &W::down, &W::down_bias);
  }
};

/// The tensors of a layer; biases may be absent.
template <class Form>
struct VisionLayerTensors {
  typename Form::Vector mixer_norm{}, mixer_norm_bias{};  // [width]
  AttentionTensors<Form> attention{};
  typename Form::Vector ffn_norm{}, ffn_norm_bias{};  // [width]
  DenseFfnTensors<Form> feed_forward{};

  static constexpr auto members() {
    using W = VisionLayerTensors;
    return std::tuple(&W::mixer_norm, &W::mixer_norm_bias, &W::attention, &W::ffn_norm, &W::ffn_norm_bias,
                      &W::feed_forward);
  }
};

/// The tensors of a VisionConfig without the matrix of patches, which files have in parts.
template <class Form>
struct VisionTensors {
  typename Form::Vector patch_bias{};  // [width]; may be absent
  typename Form::Vector positions{};   // [grid_side][grid_side][width], row by row of the grid
  std::vector<VisionLayerTensors<Form>> layers{};
  MergerTensors<Form> merger{};
  std::vector<MergerTensors<Form>> deepstack{};  // [deepstack_layers]
};

}  // namespace octavo
