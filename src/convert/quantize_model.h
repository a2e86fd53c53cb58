// Writes a model with other types of weights: reads a piece of a tensor, converts its rows on all threads, writes it.
//
// Memory is bounded by the piece, whatever the model's size. The file's bytes do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>

#include "base/thread_pool.h"
#include "convert/importance.h"
#include "convert/type_plan.h"
#include "source/gguf_head.h"

namespace octavo {

struct QuantizeOptions {
  TypeRequest types;
  const Importance* importance = nullptr;  // nullptr: all columns count the same
  std::string importance_name = {};        // the origin of `importance`, which is written into the file
  bool allow_requantize = false;           // whether quantized weights may be quantized again, with a second loss
  bool overwrite = false;
  std::function<void(GgufHead& head)> add_keys = {};  // adds keys after the model's own
  /// Is told the bytes of the model that are done, and the bytes of all.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress = {};
};

/// A summary of the file that was written.
struct QuantizeReport {
  std::map<DType, std::uint64_t> tensors;            // the number of tensors of each type
  std::map<std::uint64_t, std::uint64_t> fell_back;  // by row lengths: tensors that got a type of smaller blocks
  std::uint64_t num_weights = 0;
  std::uint64_t bytes = 0;               // the bytes of the file
  std::uint64_t without_importance = 0;  // the tensors that were quantized but that `importance` lacks
};

/// Writes `source` to `path`. Errors: those of plan_types() and GgufFileWriter; weights that are quantized already, if
/// that is not allowed; a weight that is not finite or too large, with the tensor and the row; the model cannot be
/// read.
Result<QuantizeReport> quantize_model(const ModelSource& source, const std::filesystem::path& path,
                                      const QuantizeOptions& options, ThreadPool& pool);

}  // namespace octavo
