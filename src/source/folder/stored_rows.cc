#include "source/folder/stored_rows.h"

#include <algorithm>

namespace octavo {
namespace {

std::uint64_t place_of(const StoredSlice& slice) { return slice.tensor.stored->offset + slice.offset; }

}  // namespace

std::uint64_t PieceOrder::source_of(std::uint64_t piece) const {
  if (piece < kept) return piece;
  const std::uint64_t within = (piece - kept) % group(), moved = within / unit;
  return piece - within + (moved % first * second + moved / first) * unit + within % unit;
}

std::uint64_t PieceOrder::run(std::uint64_t piece) const {
  return piece < kept ? kept - piece : unit - (piece - kept) % unit;
}

Result<void> StoredRows::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t slice_bytes = slices_.front().bytes;
  while (!out.empty()) {
    const std::uint64_t within = offset % slice_bytes;
    const std::size_t size = std::min<std::uint64_t>(out.size(), slice_bytes - within);
    OCTAVO_TRY_VOID(read_slice(slices_[offset / slice_bytes], within, out.first(size)));
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

Result<void> StoredRows::read_slice(const StoredSlice& slice, std::uint64_t offset, std::span<std::byte> out) const {
  if (order_.is_none()) return slice.tensor.file->file().read(place_of(slice) + offset, out);
  return order_.unit > 1 ? read_runs(slice, offset, out) : read_groups(slice, offset, out);
}

// Units of many rows are read one after another.
Result<void> StoredRows::read_runs(const StoredSlice& slice, std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::uint64_t piece = offset / piece_bytes_, within = offset % piece_bytes_;
    const std::size_t size = std::min<std::uint64_t>(out.size(), order_.run(piece) * piece_bytes_ - within);
    const std::uint64_t from = order_.source_of(piece) * piece_bytes_ + within;
    OCTAVO_TRY_VOID(slice.tensor.file->file().read(place_of(slice) + from, out.first(size)));
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

// Single rows are reordered in memory: whole groups of them are read as they are stored.
Result<void> StoredRows::read_groups(const StoredSlice& slice, std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t group = order_.group() * piece_bytes_;
  const std::uint64_t begin = offset / group * group;
  const std::uint64_t end = std::min(slice.bytes, (offset + out.size() + group - 1) / group * group);
  std::vector<std::byte> stored(end - begin);
  OCTAVO_TRY_VOID(slice.tensor.file->file().read(place_of(slice) + begin, stored));
  while (!out.empty()) {
    const std::uint64_t piece = offset / piece_bytes_, within = offset % piece_bytes_;
    const std::size_t size = std::min<std::uint64_t>(out.size(), piece_bytes_ - within);
    const std::uint64_t from = order_.source_of(piece) * piece_bytes_ + within - begin;
    std::ranges::copy(std::span(stored).subspan(from, size), out.begin());
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

std::vector<StoredRange> StoredRows::ranges(std::uint64_t offset, std::uint64_t size) const {
  std::vector<StoredRange> ranges;
  const std::uint64_t slice_bytes = slices_.front().bytes, end = std::min(bytes(), offset + size);
  while (offset < end) {
    const StoredSlice& slice = slices_[offset / slice_bytes];
    const std::uint64_t within = offset % slice_bytes, count = std::min(end - offset, slice_bytes - within);
    ranges.push_back({&slice.tensor.file->file(), place_of(slice) + within, count});
    offset += count;
  }
  return ranges;
}

std::pair<std::size_t, std::uint64_t> StoredRows::place() const {
  return {slices_.front().tensor.file_index, place_of(slices_.front())};
}

}  // namespace octavo
