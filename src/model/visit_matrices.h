// The matrices of a layer, one by one, for whoever counts or checks them.
#pragma once

#include <variant>

#include "model/weights.h"

namespace octavo {

/// Calls visit(matrix, of_state) for each matrix that a row meets in a layer; `of_state`: what it computes stays for
/// later rows. Of experts as many are visited as a row chooses.
template <class Visit>
void visit_matrices(const AttentionWeights& w, const Visit& visit) {
  visit(w.q, false);
  if (w.k.rows > 0) visit(w.k, true);
  if (w.v.rows > 0) visit(w.v, true);
  visit(w.o, false);
}
template <class Visit>
void visit_matrices(const DeltaWeights& w, const Visit& visit) {
  for (const WeightMatrix* matrix : {&w.qkv, &w.decay, &w.beta}) visit(*matrix, true);
  visit(w.gate, false);
  visit(w.output, false);
}
template <class Visit>
void visit_matrices(const DenseFfnWeights& w, const Visit& visit) {
  for (const WeightMatrix* matrix : {&w.gate, &w.up, &w.down}) visit(*matrix, false);
}
template <class Visit>
void visit_matrices(const ExpertsFfnWeights& w, const Visit& visit) {
  visit(w.router, false);
  for (int i = 0; i < w.num_chosen; ++i)
    for (const ExpertMatrices* matrices : {&w.gate, &w.up, &w.down}) visit(matrices->of(i), false);
  if (!w.has_shared()) return;
  if (w.shared_gate.rows > 0) visit(w.shared_gate, false);
  visit_matrices(w.shared, visit);
}
template <class Visit>
void visit_matrices(const PerLayerWeights& w, const Visit& visit) {
  if (w.gate.rows > 0) visit(w.gate, false);
  if (w.up.rows > 0) visit(w.up, false);
}
template <class Visit>
void visit_matrices(const LayerWeights& w, const Visit& visit) {
  std::visit([&](const auto& mixer) { visit_matrices(mixer, visit); }, w.mixer);
  std::visit([&](const auto& feed_forward) { visit_matrices(feed_forward, visit); }, w.feed_forward);
  visit_matrices(w.per_layer, visit);
}

}  // namespace octavo
