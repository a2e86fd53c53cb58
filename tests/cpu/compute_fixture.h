// Kernels, threads and rows of random floats, for the tests of one part of a layer.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "cpu/compute_context.h"
#include "kernels/dispatch.h"
#include "tensor/dequantize.h"

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

/// A file's bytes of weights, and the floats that they stand for: floats, or Q8_0 weights of about a sixteenth.
struct StoredWeights {
  std::vector<std::byte> bytes;
  std::vector<float> floats;

  StoredWeights(DType type, std::int64_t count, unsigned seed)
      : bytes(*dtype_bytes(type, static_cast<std::uint64_t>(count))), floats(random_floats(to_size(count), seed)) {
    if (type == DType::kF32) {
      for (float& x : floats) x /= 8;
      std::memcpy(bytes.data(), floats.data(), bytes.size());
    } else {
      std::mt19937 random(seed);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = i % 34 == 0 ? std::byte{0} : i % 34 == 1 ? std::byte{0x14} : static_cast<std::byte>(random());
      dequantize(type, bytes.data(), floats);
    }
  }
};

/// A matrix of floats, not packed.
inline WeightMatrix matrix_of(const std::vector<float>& weights, std::int64_t rows) {
  return {.type = DType::kF32,
          .rows = rows,
          .cols = static_cast<std::int64_t>(weights.size()) / rows,
          .file = reinterpret_cast<const std::byte*>(weights.data())};
}

}  // namespace octavo::test
