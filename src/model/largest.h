// The largest of a size over a model's layers, for memory that all of them use.
//
// Pure functions.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <type_traits>
#include <variant>

#include "kv/layer_range.h"
#include "model/layer_spec.h"

namespace octavo {

/// The largest size(spec), or spec.*size, of the parts of one kind, a mixer or a feed-forward; 0 where there is none.
template <class Spec, class Size>
int largest(std::span<const LayerSpec> layers, const Size& size) {
  int most = 0;
  const auto look = [&](const auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, Spec>)
      most = std::max(most, std::invoke(size, part));
  };
  for (const LayerSpec& layer : layers) {
    std::visit(look, layer.mixer);
    if (layer.beside) look(*layer.beside);
    std::visit(look, layer.feed_forward);
  }
  return most;
}

/// The largest among those layers of the model that are in `range`.
template <class Spec, class Size>
int largest(std::span<const LayerSpec> layers, LayerRange range, const Size& size) {
  return largest<Spec>(range.within(layers), size);
}

/// The widest dense feed-forward, the expert for every row of a mixture among them.
inline int widest_dense(std::span<const LayerSpec> layers) {
  return std::max(largest<DenseFfnSpec>(layers, &DenseFfnSpec::width),
                  largest<ExpertsFfnSpec>(layers, &ExpertsFfnSpec::shared_width));
}

}  // namespace octavo
