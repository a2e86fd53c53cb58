#include "source/folder/transposed_experts.h"

#include <algorithm>
#include <cstring>

namespace octavo {

TransposedExperts::TransposedExperts(const CheckpointTensor& stored, std::uint64_t element_bytes, const Turns& turns)
    : stored_(stored),
      element_bytes_(element_bytes),
      turns_(turns),
      num_experts_(stored.stored->shape[0]),
      num_rows_(stored.stored->shape[2] / turns.of),
      num_cols_(stored.stored->shape[1]),
      col_step_(num_cols_) {}

TransposedExperts::TransposedExperts(const CheckpointTensor& stored, std::uint64_t element_bytes,
                                     const RowsOfEach& rows)
    : stored_(stored),
      element_bytes_(element_bytes),
      num_experts_(rows.count),
      num_rows_(stored.stored->shape[1]),
      num_cols_(rows.used),
      col_step_(rows.step) {}

Result<void> TransposedExperts::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::uint64_t expert = offset / expert_bytes(), within = offset % expert_bytes();
    const std::size_t size = std::min<std::uint64_t>(out.size(), expert_bytes() - within);
    const std::uint64_t begin = within / row_bytes(), end = (within + size + row_bytes() - 1) / row_bytes();
    std::vector<std::byte> rows((end - begin) * row_bytes());
    OCTAVO_TRY_VOID(read_rows(expert, begin, end, rows));
    std::memcpy(out.data(), rows.data() + within - begin * row_bytes(), size);
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

Result<void> TransposedExperts::read_rows(std::uint64_t expert, std::uint64_t begin, std::uint64_t end,
                                          std::span<std::byte> out) const {
  const std::uint64_t stored_row = num_rows_ * turns_.of * element_bytes_;
  const std::uint64_t step = (turns_.are_blocks ? 1 : turns_.of) * element_bytes_;
  const std::uint64_t block = turns_.are_blocks ? turns_.turn * num_rows_ * element_bytes_ : 0;
  const std::uint64_t first = turns_.are_blocks ? 0 : turns_.turn * element_bytes_;
  std::vector<std::byte> columns((end - begin) * step);
  for (std::uint64_t col = 0; col < num_cols_; ++col) {
    const std::uint64_t at = (expert * col_step_ + col) * stored_row + block + begin * step;
    OCTAVO_TRY_VOID(stored_.file->file().read(stored_.stored->offset + at, columns));
    const std::byte* from = columns.data() + first;
    std::byte* to = out.data() + col * element_bytes_;
    for (std::uint64_t row = begin; row < end; ++row, from += step, to += row_bytes())
      std::memcpy(to, from, element_bytes_);
  }
  return {};
}

// Rows are made of bytes from all over their expert.
std::vector<StoredRange> TransposedExperts::ranges(std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t end = std::min(bytes(), offset + size);
  if (offset >= end) return {};
  const std::uint64_t stored_bytes = col_step_ * num_rows_ * turns_.of * element_bytes_;
  const std::uint64_t first = offset / expert_bytes(), last = (end - 1) / expert_bytes();
  return {{&stored_.file->file(), stored_.stored->offset + first * stored_bytes, (last - first + 1) * stored_bytes}};
}

std::pair<std::size_t, std::uint64_t> TransposedExperts::place() const {
  return {stored_.file_index, stored_.stored->offset};
}

}  // namespace octavo
