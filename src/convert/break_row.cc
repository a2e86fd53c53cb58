#include "convert/break_row.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/to_size.h"
#include "source/joined_source.h"
#include "source/tensor_names.h"
#include "source/vision_names.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"

namespace octavo {
namespace {

constexpr std::string_view kBreakToken = "[IMG_BREAK]";

/// A source of one vector.
class VectorSource final : public ModelSource {
 public:
  VectorSource(std::string_view name, std::vector<float> numbers, const SourceFiles& files)
      : numbers_(std::move(numbers)), files_(files) {
    files_.bytes = numbers_.size() * sizeof(float);
    directory_.add({.name = name,
                    .offset = 0,
                    .dims = {numbers_.size()},
                    .tensor = {.type = DType::kF32,
                               .rows = 1,
                               .cols = static_cast<std::int64_t>(numbers_.size()),
                               .data = std::as_bytes(std::span(numbers_))}});
  }
  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override { return {}; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::ranges::copy(std::as_bytes(std::span(numbers_)).subspan(to_size(offset), out.size()), out.begin());
    return {};
  }
  void prefetch(std::uint64_t /*offset*/, std::uint64_t /*size*/) const override {}

 private:
  std::vector<float> numbers_;
  SourceFiles files_;
  SourceDirectory directory_;
};

}  // namespace

Result<std::unique_ptr<const ModelSource>> with_break_row(const ModelSource& encoder, const ModelSource& model,
                                                          const ModelSource& words) {
  if (encoder.get_string(vision_names::kFamily).value_or("") != "pixtral" ||
      encoder.find_tensor(vision_names::kBreakEmbedding) != nullptr)
    return nullptr;
  const auto tokens = words.get_strings("tokenizer.ggml.tokens");
  const SourceTensor* embedding = model.find_tensor(tensor_names::kEmbedding);
  if (!tokens || embedding == nullptr || is_quantized(embedding->tensor.type)) return nullptr;
  const auto found = std::ranges::find(*tokens, kBreakToken);
  const auto row = found - tokens->begin();
  if (found == tokens->end() || row >= embedding->tensor.rows) return nullptr;
  const std::size_t row_bytes = embedding->tensor.bytes() / to_size(embedding->tensor.rows);
  std::vector<std::byte> bytes(row_bytes);
  OCTAVO_TRY_VOID(model.read(embedding->offset + to_size(row) * row_bytes, bytes));
  std::vector<float> numbers(to_size(embedding->tensor.cols));
  dequantize(embedding->tensor.type, bytes.data(), numbers);
  return std::make_unique<JoinedSource>(
      encoder, std::make_unique<VectorSource>(vision_names::kBreakEmbedding, std::move(numbers), model.files()),
      [](std::string_view name) { return name == vision_names::kBreakEmbedding; });
}

}  // namespace octavo
