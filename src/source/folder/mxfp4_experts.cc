#include "source/folder/mxfp4_experts.h"

#include <algorithm>
#include <cstring>

namespace octavo {
namespace {

constexpr std::uint64_t kCodeBytes = Mxfp4Experts::kCodes / 2, kBlockBytes = kCodeBytes + 1;

std::byte code(const std::byte* codes, std::size_t index) {
  const std::byte pair = codes[index / 2];
  return index % 2 == 0 ? pair & std::byte{0x0F} : pair >> 4;
}

void pack(const std::byte* codes, std::byte scale, std::byte* block) {
  block[0] = scale;
  for (std::size_t i = 0; i < kCodeBytes; ++i) block[1 + i] = code(codes, i) | code(codes, i + kCodeBytes) << 4;
}

}  // namespace

Mxfp4Experts::Mxfp4Experts(const CheckpointTensor& codes, const CheckpointTensor& scales, const Turns& turns)
    : codes_(codes),
      scales_(scales),
      turns_(turns),
      num_experts_(codes.stored->shape[0]),
      num_rows_(codes.stored->shape[1] / turns.of),
      num_blocks_(codes.stored->shape[2]) {}

std::uint64_t Mxfp4Experts::row_bytes() const { return num_blocks_ * kBlockBytes; }

std::pair<std::uint64_t, std::uint64_t> Mxfp4Experts::stored_rows(std::uint64_t offset, std::uint64_t size) const {
  return {offset / row_bytes() * turns_.of, (offset + size + row_bytes() - 1) / row_bytes() * turns_.of};
}

Result<void> Mxfp4Experts::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return {};
  const auto [begin, end] = stored_rows(offset, out.size());
  std::vector<std::byte> codes((end - begin) * num_blocks_ * kCodeBytes), scales((end - begin) * num_blocks_);
  OCTAVO_TRY_VOID(codes_.file->file().read(codes_.stored->offset + begin * num_blocks_ * kCodeBytes, codes));
  OCTAVO_TRY_VOID(scales_.file->file().read(scales_.stored->offset + begin * num_blocks_, scales));
  std::vector<std::byte> row(row_bytes());
  for (std::uint64_t at = begin + turns_.turn; !out.empty(); at += turns_.of) {
    const std::uint64_t first = (at - begin) * num_blocks_;
    for (std::uint64_t i = 0; i < num_blocks_; ++i)
      pack(codes.data() + (first + i) * kCodeBytes, scales[first + i], row.data() + i * kBlockBytes);
    const std::uint64_t within = offset % row_bytes();
    const std::size_t size = std::min<std::uint64_t>(out.size(), row_bytes() - within);
    std::memcpy(out.data(), row.data() + within, size);
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

std::vector<StoredRange> Mxfp4Experts::ranges(std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t count = std::min(bytes() - std::min(bytes(), offset), size);
  if (count == 0) return {};
  const auto [begin, end] = stored_rows(offset, count);
  const std::uint64_t blocks = (end - begin) * num_blocks_;
  return {{&codes_.file->file(), codes_.stored->offset + begin * num_blocks_ * kCodeBytes, blocks * kCodeBytes},
          {&scales_.file->file(), scales_.stored->offset + begin * num_blocks_, blocks}};
}

std::pair<std::size_t, std::uint64_t> Mxfp4Experts::place() const { return {codes_.file_index, codes_.stored->offset}; }

}  // namespace octavo
