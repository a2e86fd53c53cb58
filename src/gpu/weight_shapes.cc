#include "gpu/weight_shapes.h"

#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/visit_matrices.h"
#include "model/weight_need.h"

namespace octavo::gpu {
namespace {

/// Turns entries of a list into shapes (transform() of model/weight_tree.h).
struct ShapesOfList {
  const WeightList& list;

  MatrixShape matrix(WeightIndex index) const {
    if (!octavo::is_present(index)) return {};
    const ListedMatrix& listed = list.matrix(index);
    return {.name = listed.source->name,
            .type = listed.type,
            .rows = listed.rows,
            .cols = listed.cols,
            .has_factor = octavo::is_present(listed.scale)};
  }
  ExpertShapes experts(ExpertsIndex experts) const {
    if (!octavo::is_present(experts.index)) return {};
    return {.first = matrix(experts.index), .count = list.matrix(experts.index).count};
  }
  bool vector(WeightIndex index) const { return octavo::is_present(index); }
};

}  // namespace

std::uint64_t MatrixShape::bytes() const { return packed_bytes(type, rows, cols); }

WeightShapes shapes_of(const WeightList& list) {
  return {.tensors = transform<ShapeForm>(list.tensors, ShapesOfList{list}),
          .vector_bytes = weight_need(list).vector_bytes};
}

std::uint64_t matrix_bytes(const LayerShape& layer) {
  std::uint64_t bytes = 0;
  visit_matrices(layer, [&](const MatrixShape& matrix, bool) { bytes += matrix.bytes(); });
  const auto* experts = std::get_if<ExpertsFfnTensors<ShapeForm>>(&layer.feed_forward);
  if (experts == nullptr) return bytes;
  for (const auto* matrices : {&experts->gate, &experts->up, &experts->down})
    if (is_present(matrices->first)) {
      const int others = matrices->count - experts->num_chosen;  // the chosen experts have been visited
      bytes += to_size(others) * matrices->first.bytes();
    }
  return bytes;
}

}  // namespace octavo::gpu
