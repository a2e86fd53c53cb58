// Kernels, threads and rows of random floats, for the tests of one part of a layer.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "cpu/compute_context.h"
#include "kernels/dispatch.h"

namespace octavo::test {

struct ComputeFixture {
  ThreadPool pool;
  ComputeContext context;

  explicit ComputeFixture(IsaLevel level = IsaLevel::kScalar, int threads = 2, int max_rows = 32)
      : pool(threads), context{kernel_table(level), pool, PanelScratch(std::size_t{1} << 20, threads), max_rows} {}
};

inline std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> floats(count);
  for (float& x : floats) x = normal(random);
  return floats;
}

/// A matrix of floats, not packed.
inline WeightMatrix matrix_of(const std::vector<float>& weights, std::int64_t rows) {
  return {.type = DType::kF32,
          .rows = rows,
          .cols = static_cast<std::int64_t>(weights.size()) / rows,
          .file = reinterpret_cast<const std::byte*>(weights.data())};
}

}  // namespace octavo::test
