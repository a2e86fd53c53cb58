#include "gpu/step_graphs.h"

#include <algorithm>

namespace octavo::gpu {

CuGraphExec StepGraphs::find(const StreamWork::Digest& work) {
  const auto found = std::ranges::find(graphs_, work, &Graph::work);
  if (found == graphs_.end()) return nullptr;
  graphs_.splice(graphs_.begin(), graphs_, found);
  return graphs_.front().graph;
}

bool StepGraphs::note(const StreamWork::Digest& work) {
  const auto found = std::ranges::find(noted_, work);
  if (found != noted_.end()) return true;
  noted_.push_front(work);
  if (noted_.size() > kMostNoted) noted_.pop_back();
  return false;
}

void StepGraphs::add(const StreamWork::Digest& work, CuGraphExec graph) {
  graphs_.push_front({work, graph});
  if (graphs_.size() <= kMostGraphs) return;
  driver_.graph_exec_destroy(graphs_.back().graph);
  graphs_.pop_back();
}

void StepGraphs::clear() {
  for (const Graph& graph : graphs_) driver_.graph_exec_destroy(graph.graph);
  graphs_.clear();
  noted_.clear();
}

}  // namespace octavo::gpu
