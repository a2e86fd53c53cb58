#include "convert/quantize_model.h"

#include <algorithm>
#include <mutex>

#include "base/text.h"
#include "base/to_size.h"
#include "source/gguf_writer.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace octavo {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20;  // the bytes read at once; a row is never cut
constexpr std::uint32_t kQuantizationVersion = 2;               // the version of ggml's formats since 2023

/// The model's keys without those of its shards, and the keys that say how it was quantized.
GgufHead head_of(const ModelSource& source, const std::vector<PlannedTensor>& plan, const QuantizeOptions& options) {
  GgufHead head;
  for (const auto& [key, value] : source.metadata())
    if (!key.starts_with("split.")) head.set(key, value);
  head.set_u32("general.quantization_version", kQuantizationVersion);
  head.set_u32("general.file_type", options.types.mix.file_type);
  if (options.importance != nullptr) {
    head.set_string("quantize.imatrix.file", options.importance_name);
    head.set_u32("quantize.imatrix.entries_count", static_cast<std::uint32_t>(options.importance->num_tensors()));
  }
  for (const PlannedTensor& planned : plan) head.add_tensor(planned.tensor->name, planned.tensor->dims, planned.type);
  return head;
}

/// Converts one tensor piece by piece.
class TensorConverter {
 public:
  TensorConverter(const ModelSource& source, const PlannedTensor& planned, std::span<const float> importance,
                  ThreadPool& pool)
      : source_(source), planned_(planned), importance_(importance), pool_(pool) {}

  Result<void> write(GgufFileWriter& writer, const std::function<void(std::uint64_t)>& on_bytes) {
    const Tensor& from = planned_.tensor->tensor;
    const std::uint64_t row_bytes = from.row_bytes();
    const std::uint64_t piece_rows = std::max<std::uint64_t>(1, kPieceBytes / std::max<std::uint64_t>(1, row_bytes));
    const auto rows = static_cast<std::uint64_t>(from.rows);
    for (std::uint64_t begin = 0; begin < rows; begin += piece_rows) {
      const std::uint64_t count = std::min(piece_rows, rows - begin);
      input_.resize(to_size(count * row_bytes));
      OCTAVO_TRY_VOID(source_.read(planned_.tensor->offset + begin * row_bytes, input_));
      // The next piece is fetched while this one is converted.
      source_.prefetch(planned_.tensor->offset + (begin + count) * row_bytes, piece_rows * row_bytes);
      if (planned_.type == from.type) {
        OCTAVO_TRY_VOID(writer.append(input_));
      } else {
        OCTAVO_TRY_VOID(convert(begin, to_size(count)));
        OCTAVO_TRY_VOID(writer.append(output_));
      }
      on_bytes(count * row_bytes);
    }
    return {};
  }

 private:
  /// Converts the rows of input_ into output_; the first of them is row `first` of the tensor.
  Result<void> convert(std::uint64_t first, std::size_t count) {
    const Tensor& from = planned_.tensor->tensor;
    const std::size_t cols = to_size(from.cols), in_bytes = from.row_bytes();
    const std::size_t out_bytes = to_size(*dtype_bytes(planned_.type, cols));
    output_.resize(count * out_bytes);
    rows_.resize(to_size(pool_.num_threads()) * cols);
    failure_ = {};
    failed_row_ = count;
    pool_.for_ranges(count, 1, [&](std::size_t begin, std::size_t end, int worker) {
      const auto row = std::span(rows_).subspan(to_size(worker) * cols, cols);
      for (std::size_t r = begin; r < end; ++r) {
        dequantize(from.type, input_.data() + r * in_bytes, row);
        const auto out = std::span(output_).subspan(r * out_bytes, out_bytes);
        if (auto done = quantize(planned_.type, row, importance_of(first + r), out); !done)
          note_failure(r, done.error().message);
      }
    });
    if (failed_row_ == count) return {};
    return fail("{}: tensor {}, row {}: {}", source_.name(), quote(planned_.tensor->name), first + failed_row_,
                failure_);
  }

  /// Keeps the failure of the first row, whichever thread comes first.
  void note_failure(std::size_t row, const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (row >= failed_row_) return;
    failed_row_ = row;
    failure_ = message;
  }

  std::span<const float> importance_of(std::uint64_t row) const {
    if (importance_.empty()) return {};
    const auto& dims = planned_.tensor->dims;
    const std::size_t matrix = dims.size() < 3 ? 0 : to_size(row / dims[1] % dims[2]);
    return importance_.subspan(matrix * to_size(dims.front()), to_size(dims.front()));
  }

  const ModelSource& source_;
  const PlannedTensor& planned_;
  std::span<const float> importance_;
  ThreadPool& pool_;
  std::vector<std::byte> input_, output_;
  std::vector<float> rows_;  // [workers] rows as floats
  std::mutex mutex_;
  std::size_t failed_row_ = 0;
  std::string failure_;
};

QuantizeReport report_of(const std::vector<PlannedTensor>& plan, std::uint64_t bytes) {
  QuantizeReport report;
  report.bytes = bytes;
  for (const PlannedTensor& planned : plan) {
    ++report.tensors[planned.type];
    report.num_weights += static_cast<std::uint64_t>(planned.tensor->tensor.rows * planned.tensor->tensor.cols);
    if (planned.fell_back) ++report.fell_back[planned.tensor->dims.front()];
  }
  return report;
}

}  // namespace

Result<QuantizeReport> quantize_model(const ModelSource& source, const std::filesystem::path& path,
                                      const QuantizeOptions& options, ThreadPool& pool) {
  OCTAVO_TRY(const std::vector<PlannedTensor> plan, plan_types(source, options.types));
  std::uint64_t total = 0, done = 0;
  for (const PlannedTensor& planned : plan) {
    OCTAVO_TRY_VOID(check_change(source, planned, options.allow_requantize));
    total += planned.tensor->tensor.bytes();
  }
  GgufHead head = head_of(source, plan, options);
  if (options.add_keys) options.add_keys(head);
  QuantizeReport report = report_of(plan, head.file_bytes());
  OCTAVO_TRY(GgufFileWriter writer, GgufFileWriter::create(path, std::move(head), options.overwrite));
  const ThreadPool::Step step(pool);
  for (const PlannedTensor& planned : plan) {
    std::span<const float> importance;
    if (options.importance != nullptr && planned.type != planned.tensor->tensor.type) {
      OCTAVO_TRY(importance, options.importance->of(*planned.tensor));
      report.without_importance += importance.empty() ? 1 : 0;
    }
    TensorConverter converter(source, planned, importance, pool);
    OCTAVO_TRY_VOID(converter.write(writer, [&](std::uint64_t bytes) {
      done += bytes;
      if (options.on_progress) options.on_progress(done, total);
    }));
  }
  OCTAVO_TRY_VOID(writer.finish());
  return report;
}

}  // namespace octavo
