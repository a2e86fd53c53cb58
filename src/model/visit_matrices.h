// The matrices of a layer, one by one, for whoever counts or checks them.
#pragma once

#include <variant>

#include "model/weight_tree.h"

namespace octavo {

/// Calls visit(matrix, of_state) for each matrix that a row meets in a layer; `of_state`: what it computes stays for
/// later rows. As many experts are visited as a row chooses.
template <class Form, class Visit>
void visit_matrices(const LatentTensors<Form>& w, const Visit& visit) {
  if (is_present(w.q_down)) visit(w.q_down, false);
  for (int head = 0; head < w.num_heads; ++head)
    for (const auto* matrices : {&w.keys, &w.values}) visit(matrices->of(head), false);
}
template <class Form, class Visit>
void visit_matrices(const AttentionTensors<Form>& w, const Visit& visit) {
  visit(w.q, false);
  if (is_present(w.k)) visit(w.k, true);
  if (is_present(w.v)) visit(w.v, true);
  if (is_present(w.gate)) visit(w.gate, false);
  visit(w.o, false);
  visit_matrices(w.latent, visit);
}
template <class Form, class Visit>
void visit_matrices(const DeltaTensors<Form>& w, const Visit& visit) {
  for (const auto* matrix : {&w.qkv, &w.decay, &w.beta})
    if (is_present(*matrix)) visit(*matrix, true);
  visit(w.gate, false);
  visit(w.output, false);
}
template <class Form, class Visit>
void visit_matrices(const ShortConvTensors<Form>& w, const Visit& visit) {
  visit(w.in_gate, true);
  visit(w.value, true);
  visit(w.out_gate, false);
  visit(w.output, false);
}
template <class Form, class Visit>
void visit_matrices(const MambaTensors<Form>& w, const Visit& visit) {
  visit(w.input, true);
  visit(w.step, true);
  visit(w.gate, false);
  visit(w.output, false);
}
template <class Form, class Visit>
void visit_matrices(const DenseFfnTensors<Form>& w, const Visit& visit) {
  for (const auto* matrix : {&w.gate, &w.up, &w.down})
    if (is_present(*matrix)) visit(*matrix, false);
}
template <class Form, class Visit>
void visit_matrices(const ExpertsFfnTensors<Form>& w, const Visit& visit) {
  visit(w.router, false);
  for (const auto* matrix : {&w.latent_down, &w.latent_up})
    if (is_present(*matrix)) visit(*matrix, false);
  for (int i = 0; i < w.num_chosen; ++i)
    for (const auto* matrices : {&w.gate, &w.up, &w.down})
      if (is_present(matrices->of(i))) visit(matrices->of(i), false);
  if (!w.has_shared()) return;
  if (is_present(w.shared_gate)) visit(w.shared_gate, false);
  visit_matrices(w.shared, visit);
}
template <class Form, class Visit>
void visit_matrices(const NoTensors<Form>& /*w*/, const Visit& /*visit*/) {}
template <class Form, class Visit>
void visit_matrices(const PerLayerTensors<Form>& w, const Visit& visit) {
  if (is_present(w.gate)) visit(w.gate, false);
  if (is_present(w.up)) visit(w.up, false);
}
template <class Form, class Visit>
void visit_matrices(const LayerTensors<Form>& w, const Visit& visit) {
  std::visit([&](const auto& mixer) { visit_matrices(mixer, visit); }, w.mixer);
  if (is_present(w.beside.gate)) visit_matrices(w.beside, visit);
  std::visit([&](const auto& feed_forward) { visit_matrices(feed_forward, visit); }, w.feed_forward);
  visit_matrices(w.per_layer, visit);
}

}  // namespace octavo
