#include "gpu/card_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/pack.h"
#include "model/weight_need.h"
#include "stage/weight_shares.h"

namespace octavo::gpu {
namespace {

// Long enough for a copy to reach its full rate.
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

std::uint64_t bytes_of_one(const ListedMatrix& m) { return packed_bytes(m.type, m.rows, m.cols); }

}  // namespace

/// Turns entries of a list into places on the card (transform() of model/weight_tree.h).
struct CardWeights::Places {
  const WeightList& list;
  const CardWeights& weights;

  CardMatrix matrix(WeightIndex index) const {
    if (!octavo::is_present(index)) return {};
    const ListedMatrix& m = list.matrix(index);
    const CuPointer place = weights.matrix_places_[to_size(index.value)];
    return {m.type, m.rows, m.cols, reinterpret_cast<const std::uint8_t*>(place)};  // NOLINT: an address of the card
  }
  CardExpertMatrices experts(ExpertsIndex experts) const {
    if (!octavo::is_present(experts.index)) return {};
    const ListedMatrix& m = list.matrix(experts.index);
    return {.first = matrix(experts.index), .bytes_of_one = gpu::bytes_of_one(m), .bias = vector(m.bias)};
  }
  const float* vector(WeightIndex index) const {
    if (!octavo::is_present(index)) return nullptr;
    return reinterpret_cast<const float*>(weights.vector_places_[to_size(index.value)]);  // NOLINT: the card's
  }
};

Result<CardWeights> CardWeights::allocate(CudaDevice& device, const WeightList& list, LayerRange layers, bool output) {
  CardWeights made(device, list);
  OCTAVO_TRY_VOID(made.take_memory(list, layers, output));
  const Places places{list, made};
  made.layers_.resize(to_size(layers.end));
  for (int i = layers.first; i < layers.end; ++i)
    made.layers_[to_size(i)] = transform<CardForm>(list.tensors.layers[to_size(i)], places);
  made.output_scales_.resize(to_size(layers.end), 1.0F);
  if (!output) return made;
  made.output_ = places.matrix(list.tensors.output);
  made.output_norm_ = places.vector(list.tensors.output_norm);
  made.output_bias_ = places.vector(list.tensors.output_bias);
  return made;
}

Result<void> CardWeights::take_memory(const WeightList& list, LayerRange layers, bool output) {
  const WeightShares shares(list, layers, output);
  std::size_t floats = 0;
  for (std::size_t i = 0; i < list.vectors.size(); ++i) {
    vector_places_.push_back(floats * sizeof(float));
    if (shares.vector(i).is_there) floats += vector_floats(list.vectors[i].num_floats());
  }
  OCTAVO_TRY(CardMemory vectors, device_->allocate(floats * sizeof(float)));
  for (CuPointer& place : vector_places_) place += vectors.pointer();
  memory_.push_back(std::move(vectors));
  std::size_t largest = floats * sizeof(float);
  for (std::size_t i = 0; i < list.matrices.size(); ++i) {
    matrix_places_.push_back(0);
    if (!shares.matrix(i).is_there) continue;
    const std::size_t bytes = to_size(list.matrices[i].count) * bytes_of_one(list.matrices[i]);
    OCTAVO_TRY(CardMemory panels, device_->allocate(bytes));
    matrix_places_.back() = panels.pointer();
    memory_.push_back(std::move(panels));
    largest = std::max(largest, bytes);
  }
  OCTAVO_TRY(staging_, device_->allocate_pinned(std::min(largest, kPieceBytes)));
  return {};
}

void CardWeights::put_vector(WeightIndex vector, std::span<const float> floats) {
  if (vector.value == list_->rope_factors.value) rope_factors_.assign(floats.begin(), floats.end());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (vector.value == list_->layers[i].output_scale.value) output_scales_[i] = floats.front();
  copy(vector_places_[to_size(vector.value)], floats.data(), floats.size_bytes());
}

void CardWeights::put_panels(WeightIndex matrix, std::size_t offset, std::span<const std::uint8_t> panels) {
  copy(matrix_places_[to_size(matrix.value)] + offset, panels.data(), panels.size());
}

void CardWeights::copy(CuPointer to, const void* from, std::size_t bytes) {
  const auto* data = static_cast<const std::byte*>(from);
  for (std::size_t done = 0; done < bytes; done += staging_.bytes()) {
    const std::size_t piece = std::min(staging_.bytes(), bytes - done);
    std::memcpy(staging_.data(), data + done, piece);
    device_->copy_to_card(to + done, staging_.data(), piece);
    device_->wait();
  }
}

}  // namespace octavo::gpu
