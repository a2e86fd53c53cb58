// The driver's graphs of steps, and the steps that were seen once. A step with the same work as an earlier one is a
// single launch; the steps of a decode are alike until a sequence sees one tile more.
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

  /// The graph of this work; null: there is none.
  CuGraphExec find(const StreamWork::Digest& work);
  /// Whether this work was noted not long ago. It is noted now.
  bool note(const StreamWork::Digest& work);
  /// Takes a graph. Where there are kMostGraphs, it replaces the one that was not used for longest.
  void add(const StreamWork::Digest& work, CuGraphExec graph);
  void clear();

 private:
  static constexpr std::size_t kMostGraphs = 32, kMostNoted = 64;
  struct Graph {
    StreamWork::Digest work;
    CuGraphExec graph;
  };

  const CudaDriver& driver_;
  std::list<Graph> graphs_;              // the most recently used first
  std::list<StreamWork::Digest> noted_;  // the most recently noted first
};

}  // namespace octavo::gpu
