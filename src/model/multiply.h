// Products of weight matrices with the rows of a step, shared out over the pool by runs of outputs.
//
// One thread calls it, inside a pool step. K is never split, so the result does not depend on the number of threads.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/weight_matrix.h"

namespace octavo {

struct Product {
  const WeightMatrix* weight;
  float* y;  // [rows, weight->rows]
};

/// All products of the same rows in one parallel region.
void multiply(std::span<const Product> products, const ActivationRows& x, int rows, const KernelTable& kernels,
              PanelScratch& scratch, ThreadPool& pool);

}  // namespace octavo
