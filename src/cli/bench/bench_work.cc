#include "cli/bench/bench_work.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/first_seen.h"
#include "model/model_work.h"

namespace octavo::cli {

Work& Work::operator+=(const Work& other) {
  bytes += other.bytes;
  int8_ops += other.int8_ops;
  float_ops += other.float_ops;
  return *this;
}

Work step_work(const ModelInfo& info, std::span<const SequenceRows> sequences, int num_shared) {
  OCTAVO_CHECK(info.work != nullptr, "the engine does not count its work");
  const ModelWork& model = *info.work;
  Work work;
  double rows = 0, logit_rows = 0;
  for (const SequenceRows& s : sequences) {
    rows += s.num_rows;
    logit_rows += s.logits ? 1 : 0;
  }
  const std::uint64_t unread = logit_rows > 0 ? 0 : model.output.bytes;
  work.bytes = static_cast<double>(info.weight_bytes_per_token - std::min(unread, info.weight_bytes_per_token));
  for (const ExpertsWork& layers : model.experts) {  // the experts that one row meets are counted
    const double meeting = layers.only_logit_rows ? logit_rows : rows;
    if (meeting > 0)
      work.bytes += static_cast<double>(layers.bytes) * (distinct_experts(layers, meeting) - layers.num_chosen);
  }
  work.int8_ops = 2 * (rows * static_cast<double>(model.layers.int8_multiply_adds) +
                       logit_rows * static_cast<double>(model.output.int8_multiply_adds));
  work.float_ops = 2 * (rows * static_cast<double>(model.layers.float_multiply_adds) +
                        logit_rows * static_cast<double>(model.output.float_multiply_adds));
  for (const AttentionWork& layers : model.attention) {
    int shared_begin = num_shared;
    for (const SequenceRows& s : sequences) {
      const auto [first, count] = attending_rows(layers, {s.first_row, s.num_rows}, s.logits ? 1 : 0);
      if (count == 0) continue;
      const auto begin = static_cast<int>(first_seen(first, layers.window, layers.is_chunked));
      shared_begin = std::min(shared_begin, begin);
      work.bytes += static_cast<double>(layers.kv_bytes) * std::max(0, first + count - std::max(begin, num_shared));
      work.float_ops += 2 * static_cast<double>(layers.float_multiply_adds) * tokens_seen(layers, {first, count});
    }
    work.bytes += static_cast<double>(layers.kv_bytes) * (num_shared - shared_begin);
  }
  return work;
}

LeastTime least_time(const Work& work, const MachineLimits& machine) {
  return {.memory_s = work.bytes / machine.read_bytes_per_s,
          .compute_s = work.int8_ops / machine.int8_ops_per_s + work.float_ops / machine.float_ops_per_s};
}

}  // namespace octavo::cli
