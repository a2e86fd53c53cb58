#include "stage/weight_shares.h"

#include "base/to_size.h"

namespace octavo {

/// Marks the entries of a tree (transform() of model/weight_tree.h) and the vectors that belong to each.
struct WeightShares::Marker {
  WeightShares& shares;
  const WeightList& list;
  bool WeightShare::* place;

  WeightIndex matrix(WeightIndex index) const {
    if (!is_present(index)) return index;
    shares.matrices_[to_size(index.value)].*place = true;
    vector(list.matrix(index).scale);
    vector(list.matrix(index).bias);
    return index;
  }
  ExpertsIndex experts(ExpertsIndex experts) const { return {matrix(experts.index)}; }
  WeightIndex vector(WeightIndex index) const {
    if (is_present(index)) shares.vectors_[to_size(index.value)].*place = true;
    return index;
  }
};

WeightShares::WeightShares(const WeightList& list) : WeightShares(list, {.first = 0, .end = 0}, false) {}

WeightShares::WeightShares(const WeightList& list, LayerRange layers, bool output)
    : matrices_(list.matrices.size()), vectors_(list.vectors.size()) {
  const Marker here{*this, list, &WeightShare::is_here}, there{*this, list, &WeightShare::is_there};
  ModelTensors<ListedForm> ends = list.tensors;  // the tree without what another device has
  ends.layers.clear();
  for (std::size_t i = 0; i < list.tensors.layers.size(); ++i) {
    const LayerTensors<ListedForm>& layer = list.tensors.layers[i];
    transform<ListedForm>(layer, layers.contains(static_cast<int>(i)) ? there : here);
  }
  if (output) {
    there.matrix(ends.output);
    there.vector(ends.output_norm);
    there.vector(ends.output_bias);
    ends.output = {};
    ends.output_bias = {};
  }
  if (!layers.is_empty()) there.vector(ends.rope_factors);
  transform<ListedForm>(ends, here);
  // Vectors that are only factors of other vectors are in no tree: they stay here.
  for (std::vector<WeightShare>* shares : {&matrices_, &vectors_})
    for (WeightShare& share : *shares) share.is_here = share.is_here || !share.is_there;
}

}  // namespace octavo
