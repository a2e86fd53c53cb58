#include "convert/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "base/to_size.h"
#include "json/json_file.h"
#include "source/open_model.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;  // a mixture of 256 experts has some hundred million
constexpr std::int32_t kMaxTensors = 1 << 18;
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";

/// The least importance of a column, as a part of the mean: a hardly used column may matter elsewhere.
constexpr float kLeastShare = 1e-6F;

/// Makes all values positive. Error: one is negative or not finite.
Result<void> make_positive(std::span<float> values, const std::string& file, std::string_view tensor) {
  double sum = 0;
  for (const float value : values) {
    if (!std::isfinite(value) || value < 0)
      return fail("{}: entry {} has the value {}, expected a finite one that is not negative", file, quote(tensor),
                  value);
    sum += static_cast<double>(value);
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(values.size()));
  const float least = mean > 0 ? mean * kLeastShare : 1;
  for (float& value : values) value = std::max({value, least, std::numeric_limits<float>::min()});
  return {};
}

/// Reads the older form: a count, then for each tensor its name, the number of calls and the sums.
class DatReader {
 public:
  DatReader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Result<std::int32_t> read_number(std::string_view what, std::int32_t least, std::int32_t most) {
    OCTAVO_TRY(const auto raw, take(sizeof(std::int32_t), what));
    std::int32_t number;
    std::memcpy(&number, raw.data(), sizeof number);
    if (number < least || number > most)
      return fail("{}: found {} {} at offset {}, expected {} to {}", file_, number, what, at_ - sizeof number, least,
                  most);
    return number;
  }
  Result<std::span<const std::byte>> take(std::size_t size, std::string_view what) {
    if (size > bytes_.size() - at_)
      return fail("{}: truncated: {} at offset {} needs {} bytes, {} remain", file_, what, at_, size,
                  bytes_.size() - at_);
    const auto taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
};

Result<std::vector<float>> floats_of(const ModelSource& source, const SourceTensor& tensor) {
  if (tensor.tensor.type != DType::kF32)
    return fail("{}: tensor {} has type {}, expected F32", source.name(), quote(tensor.name),
                dtype_info(tensor.tensor.type).name);
  std::vector<float> values(tensor.tensor.bytes() / sizeof(float));
  OCTAVO_TRY_VOID(source.read(tensor.offset, std::as_writable_bytes(std::span(values))));
  return values;
}

/// Turns sums over tokens into means; each matrix has its own count. Where a matrix saw no token, all its columns count
/// the same.
Result<void> divide(std::vector<float>& sums, std::span<const float> counts, const std::string& file,
                    std::string_view tensor) {
  if (counts.empty() || sums.empty() || sums.size() % counts.size() != 0)
    return fail("{}: entry {} has {} sums and {} counts, expected as many for each count", file, quote(tensor),
                sums.size(), counts.size());
  const std::size_t cols = sums.size() / counts.size();
  for (std::size_t m = 0; m < counts.size(); ++m) {
    const auto matrix = std::span(sums).subspan(m * cols, cols);
    if (counts[m] > 0) {
      for (float& sum : matrix) sum /= counts[m];
    } else {
      std::ranges::fill(matrix, 1.0F);
    }
    OCTAVO_TRY_VOID(make_positive(matrix, file, tensor));
  }
  return {};
}

}  // namespace

Result<Importance> Importance::parse_dat(std::span<const std::byte> bytes, const std::string& name) {
  Importance importance;
  importance.name_ = name;
  DatReader reader(bytes, name);
  OCTAVO_TRY(const std::int32_t num_tensors, reader.read_number("entries", 1, kMaxTensors));
  for (std::int32_t i = 0; i < num_tensors; ++i) {
    OCTAVO_TRY(const auto length, reader.read_number("bytes of a name", 1, static_cast<std::int32_t>(kMaxNameBytes)));
    OCTAVO_TRY(const auto raw_name, reader.take(to_size(length), "a name"));
    std::string tensor(reinterpret_cast<const char*>(raw_name.data()), raw_name.size());
    OCTAVO_TRY(const auto calls, reader.read_number("calls", 0, std::numeric_limits<std::int32_t>::max()));
    OCTAVO_TRY(const auto size, reader.read_number("values", 1, std::numeric_limits<std::int32_t>::max()));
    OCTAVO_TRY(const auto raw, reader.take(to_size(size) * sizeof(float), "the values"));
    std::vector<float> values(to_size(size));
    std::memcpy(values.data(), raw.data(), raw.size());
    if (calls > 0)
      for (float& value : values) value /= static_cast<float>(calls);
    OCTAVO_TRY_VOID(make_positive(values, name, tensor));
    if (!importance.tensors_.emplace(tensor, std::move(values)).second)
      return fail("{}: two entries are for {}", name, quote(tensor));
  }
  return importance;
}

Result<Importance> Importance::from_source(const ModelSource& source) {
  Importance importance;
  importance.name_ = source.name();
  for (const SourceTensor& tensor : source.tensors()) {
    if (!tensor.name.ends_with(kSums)) continue;
    const std::string name(tensor.name.substr(0, tensor.name.size() - kSums.size()));
    const SourceTensor* counts = source.find_tensor(name + std::string(kCounts));
    if (counts == nullptr) return fail("{}: entry {} has sums and no counts", source.name(), quote(name));
    OCTAVO_TRY(auto sums, floats_of(source, tensor));
    OCTAVO_TRY(const auto divisors, floats_of(source, *counts));
    OCTAVO_TRY_VOID(divide(sums, divisors, source.name(), name));
    importance.tensors_.emplace(name, std::move(sums));
  }
  if (importance.tensors_.empty())
    return fail("{}: has no tensor NAME{}, expected a file of llama-imatrix", source.name(), kSums);
  return importance;
}

Result<Importance> Importance::load(const std::filesystem::path& path) {
  if (begins_as_model(path)) {
    OCTAVO_TRY(const auto source, open_model(path));
    return from_source(*source);
  }
  OCTAVO_TRY(const std::string text, read_text_file(path, kMaxBytes));
  return parse_dat(std::as_bytes(std::span(text)), path.string());
}

Result<std::span<const float>> Importance::of(const SourceTensor& tensor) const {
  const auto found = tensors_.find(tensor.name);
  if (found == tensors_.end()) return std::span<const float>{};
  const std::uint64_t matrices = tensor.dims.size() < 3 ? 1 : tensor.dims[2];
  const std::uint64_t expected = tensor.dims.front() * matrices;
  if (found->second.size() != expected)
    return fail("{}: has {} values for {}, expected {}: it was measured with another model", name_,
                found->second.size(), quote(tensor.name), expected);
  return std::span<const float>(found->second);
}

}  // namespace octavo
