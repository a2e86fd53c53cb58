// Weights loaded from sources in memory, for the tests of what they hold.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cpu/weights.h"
#include "kernels/pack.h"
#include "model/model_work.h"
#include "support/load_runner.h"
#include "support/tiny_model.h"

namespace octavo::test {

inline Result<Weights> try_load(const ModelSource& source, const ModelConfig& config, bool repack = true,
                                int threads = 1) {
  ThreadPool pool(threads);
  return load_weights(source, config, pool, repack);
}

inline Weights load(const ModelSource& source, bool repack = true, int threads = 1) {
  return try_load(source, ModelConfig::load(source).value(), repack, threads).value();
}

/// Bytes that one token reads of the weights of `source`.
inline std::uint64_t read_by_a_token(const ModelSource& source, bool repack) {
  return weight_bytes_per_token(WeightList::create(source, ModelConfig::load(source).value()).value(), repack);
}

/// The error of loading `source` by the keys of the whole model.
inline std::string error_of(const TinyModel& whole, const ModelSource& source) {
  const Result<Weights> weights = try_load(source, ModelConfig::load(whole.source()).value());
  return weights ? "no error" : weights.error().message;
}

/// Of a file that lacks any one tensor of `whole`, the error names it.
inline void expect_missing_tensors_named(const TinyModel& whole) {
  const MemorySource source = whole.source();
  for (const SourceTensor& tensor : source.tensors()) {
    TinyModel lacking = whole;
    lacking.without = {std::string(tensor.name)};
    EXPECT_THAT(error_of(whole, lacking.source()), testing::HasSubstr("no tensor " + std::string(tensor.name) +
                                                                      ", which architecture " + whole.arch + " needs"));
  }
}

inline void expect_packed(const Tensor& source, const WeightMatrix& matrix) {
  ASSERT_NE(matrix.panels, nullptr);
  std::vector<std::uint8_t> expected(packed_bytes(source.type, source.rows, source.cols));
  pack_panels(source, 0, num_panels(source.rows), expected.data());
  EXPECT_EQ(std::memcmp(matrix.panels, expected.data(), expected.size()), 0);
}

}  // namespace octavo::test
