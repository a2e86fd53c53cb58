// The order in which a thread reads weights from memory, and how far ahead it prefetches them.
//
// The first time that rows meet a panel its weights come from memory. No hardware prefetcher goes across pages, and a
// thread's panels end long before the prefetcher has found its pace.
#pragma once

#include "kernels/kernels.h"
#include "kernels/packed_layout.h"

namespace octavo {
namespace {

inline constexpr int kPrefetchBytes = 5120;
inline constexpr int kPanelVectors = kPanelRows / kLanes;  // the vectors of a panel's outputs

/// Whether weights have few values, whose fields of bytes are multiplied (matmul_low_bit.inl).
constexpr bool is_low_bit(DType type) {
  return type == DType::kQ1_0 || type == DType::kQ2_0 || type == DType::kTQ1_0 || type == DType::kTQ2_0;
}

/// The number of a panel's vectors that a tile meets together. Low-bit weights need the registers for their fields.
template <DType T>
constexpr int vectors_at_once() {
  return is_low_bit(T) || kTileVectors > kPanelVectors ? 1 : kTileVectors;
}
/// The number of passes over a panel, each for some vectors of its outputs.
template <DType T>
constexpr int panel_passes() {
  return kPanelVectors / vectors_at_once<T>();
}

/// The distance at which R rows of weights of type T prefetch lines, and the cache into which they do.
struct PrefetchLead {
  int bytes;
  bool far;  // into the L2 cache, which has room for more requests than L1
};
/// These values were found by trial with AVX-512 (docs/kernels.md). Bytes, which need no unpacking, are read faster
/// than the L1 cache has room for requests. One row of them is so little work that the processor's own window reaches
/// far ahead. Where several passes share a panel, the next one is prefetched as a whole, which is more than L1 holds.
/// AVX2 meets all vectors of a panel at once; distances and levels made a difference of 5 % at most there.
template <DType T, int R>
constexpr PrefetchLead prefetch_lead() {
  constexpr bool kBytes = packed_block(T).quad_bytes == packed_block(T).block * kPanelRows;
  if (panel_passes<T>() > 1) return {kPrefetchBytes, R == 1};
  if (kPanelVectors > 1) return {8192, false};
  if (kBytes && R == 1) return {3072, true};
  if (kBytes && R >= 4) return {7168, true};
  if ((T == DType::kQ5_0 || T == DType::kQ4_K || T == DType::kQ6_K) && R == 1) return {8192, true};
  return {kPrefetchBytes, false};
}

/// The present panels, which are met together. Their thread reads the panels after them next, as long as it has work.
struct WeightStream {
  const uint8_t* panel;  // the first one
  size_t panel_bytes;
  int panels = 1;

  /// The line of the first panel's stream to prefetch while byte `offset` of the panel is read in pass `pass` of
  /// `Passes`. Several passes over a panel share the next one: otherwise the first would wait for memory, and the
  /// others leave it idle.
  template <int Passes>
  const uint8_t* ahead(size_t offset, int pass, int lead = kPrefetchBytes) const {
    if constexpr (Passes == 1) return panel + offset + lead;
    return panel + panel_bytes + ((size_t)pass * panel_bytes + offset) / Passes;
  }
  size_t bytes() const { return (size_t)panels * panel_bytes; }
  WeightStream panel_alone(int v) const { return {panel + (size_t)v * panel_bytes, panel_bytes}; }

  // The distance from a tile's vector of outputs to its next one. The next one belongs to the same panel; where a panel
  // is one vector, it belongs to the next panel.

  static constexpr int kNextVector = kPanelVectors > 1 ? 1 : 0;
  size_t next_panel() const { return kPanelVectors > 1 ? 0 : panel_bytes; }
  size_t next_quads() const { return kPanelVectors > 1 ? (size_t)kQuad * kLanes : panel_bytes; }
};

/// The panels after the present ones, for several passes over these: each read of each pass prefetches its part of
/// them. Were the first pass to prefetch all, it would wait for the memory, which then is idle while the others
/// multiply. Each read prefetches the same number of lines, which the processor can predict.
struct NextPanels {
  const uint8_t* next;  // the next byte to prefetch
  size_t step;          // the bytes to prefetch at each read
  int lines;            // the lines that hold them

  /// `bytes` from `first` on, for `reads` reads.
  NextPanels(const uint8_t* first, size_t bytes, int64_t reads)
      : next(first), step((bytes + (size_t)reads - 1) / (size_t)reads), lines((int)((step + 63) / 64)) {}

  /// Part `part` of `parts` of the panels behind those of the stream, for `reads` reads.
  NextPanels(const WeightStream& s, int64_t part, int64_t parts, int64_t reads)
      : NextPanels(s.panel + s.bytes() + (size_t)part * s.bytes() / (size_t)parts, s.bytes() / (size_t)parts, reads) {}

  __attribute__((always_inline)) void read() {
    for (int line = 0; line < lines; ++line) prefetch(next + line * 64);
    next += step;
  }
  __attribute__((always_inline)) void read_far() {
    for (int line = 0; line < lines; ++line) prefetch_far(next + line * 64);
    next += step;
  }
};

/// Calls body(unit, b, quads, scales) for each K block of a panel: block `b` of the unit of blocks at `unit`.
template <DType T, class Body>
__attribute__((always_inline)) inline void for_blocks(const uint8_t* panel, int64_t cols, const Body& body) {
  constexpr PackedBlock kB = packed_block(T);
  constexpr int kUnit = unit_blocks(T);
  const uint8_t* unit = panel;
  for (int64_t left = cols / kB.block; left > 0; left -= kUnit) {
    const int blocks = left < kUnit ? (int)left : kUnit;
    const uint8_t* quads = unit + unit_scale_bytes(T, blocks);
    for (int b = 0; b < blocks; ++b) body(unit, b, quads + b * kB.quad_bytes, unit + b * kB.scale_bytes);
    unit += kUnit * (kB.quad_bytes + kB.scale_bytes);
  }
}

}  // namespace
}  // namespace octavo
