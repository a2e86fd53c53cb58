#include "source/folder/multiplied_rows.h"

#include <cstring>

#include "base/to_size.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

/// Writes a number as an element of the type.
void encode(DType type, float number, std::byte* out) {
  if (type == DType::kF32) {
    std::memcpy(out, &number, sizeof number);
    return;
  }
  const std::uint16_t bits = type == DType::kF16 ? f32_to_f16(number) : f32_to_bf16(number);
  std::memcpy(out, &bits, sizeof bits);
}

}  // namespace

MultipliedRows::MultipliedRows(const CheckpointTensor& tensor, const PieceOrder& order, std::uint64_t piece_bytes,
                               DType type, std::uint64_t row_bytes, std::vector<RowFactor> factors)
    : StoredRows(std::vector{StoredSlice{tensor, 0, tensor.stored->bytes}}, order, piece_bytes),
      type_(type),
      row_bytes_(row_bytes),
      factors_(std::move(factors)) {}

float MultipliedRows::factor_of(std::uint64_t row) const {
  for (const RowFactor& part : factors_) {
    if (row < part.rows) return part.factor;
    row -= part.rows;
  }
  return 1;
}

Result<void> MultipliedRows::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t size = to_size(dtype_info(type_).block_bytes), first = offset / size,
                      end = (offset + out.size() + size - 1) / size;
  std::vector<std::byte> bytes(to_size((end - first) * size));
  OCTAVO_TRY_VOID(StoredRows::read(first * size, bytes));
  std::vector<float> numbers(to_size(end - first));
  dequantize(type_, bytes.data(), numbers);
  for (std::uint64_t i = 0; i < numbers.size(); ++i)
    encode(type_, numbers[i] * factor_of((first + i) * size / row_bytes_), bytes.data() + i * size);
  std::memcpy(out.data(), bytes.data() + (offset - first * size), out.size());
  return {};
}

}  // namespace octavo
