// The steps of which the driver has a graph, and those that were seen once: a step whose work is that of an earlier
// one, as each of a decode is until its sequences see one tile more, is one launch.
//
// Owned by CudaDevice.
#pragma once

#include <list>

#include "gpu/cuda_driver.h"
#include "gpu/stream_work.h"

namespace octavo::gpu {

class StepGraphs {
 public:
  explicit StepGraphs(const CudaDriver& driver) : driver_(driver) {}
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;
  ~StepGraphs() { clear(); }

  /// The graph of that work; null: there is none.
  CuGraphExec find(const StreamWork::Digest& work);
  /// Whether that work was noted not long ago; from now on it was.
  bool note(const StreamWork::Digest& work);
  /// Takes a graph over, in place of the one that was used longest ago where there are kMostGraphs.
  void add(const StreamWork::Digest& work, CuGraphExec graph);
  void clear();

 private:
  static constexpr std::size_t kMostGraphs = 32, kMostNoted = 64;
  struct Graph {
    StreamWork::Digest work;
    CuGraphExec graph;
  };

  const CudaDriver& driver_;
  std::list<Graph> graphs_;              // the last one used first
  std::list<StreamWork::Digest> noted_;  // the last one first
};

}  // namespace octavo::gpu
