// Products of quantized weights with rows in bf16 on matrix tiles (isa/tiles_amx.h), whose scales are in the weights: a
// tile sums up floats over all of K, and no scale step follows.
//
// Weights are the tile A, an output a row of it; activations are B, a row of activations a column of it; results are
// turned over when they are stored. An output is, whatever the number of rows, the sum over blocks of 32 columns in
// ascending order of what one instruction adds (tile_dot_bf16): the products of columns 0 to 15 of the block one after
// another, plus those of columns 16 to 31. docs/kernels.md has the reasons for the order of things.
#pragma once

#include "kernels/generic/rows_bf16.inl"
#include "kernels/generic/tiles_in_use.inl"
#include "kernels/generic/weights_of_outputs.inl"

namespace octavo {
namespace {

// The loops' shape, which `bench_matmul --isa amxbf16` is for on a machine with tiles.

inline constexpr int kPanelsAtOnce = 2;   // panels that share a tile of activations
inline constexpr int kAheadBlocks = 2;    // blocks of weights that are unpacked ahead of few rows' products
inline constexpr int kUnpackedRing = 4;   // blocks of them that are kept: a power of 2
inline constexpr int kStretchBlocks = 8;  // blocks that are unpacked once for many rows, at most
inline constexpr int kGroupTiles = 32;    // row tiles that share a stretch, at most: their sums are 64 KiB
inline constexpr int kFewTiles = 7;       // row tiles up to which a product is met by several units of unpacking
inline constexpr int kLeadBytes = 12288;  // from weights at hand to those that memory is asked for

// Two tiles are sums, one is of activations and one of weights. The others hold nothing: each that does makes a product
// slower where the core's other thread is at work.
inline constexpr int kOfActivations = 2, kOfOutputs = 3;

/// Shapes for row tiles of `rows` rows.
OCTAVO_KERNEL_PART TileConfig shapes_of_rows(int rows) {
  TileConfig config;
  for (int t = 0; t < 4; ++t) {
    config.bytes_of_row[t] = (uint16_t)(t == kOfOutputs ? kOutputBytes : 4 * rows);
    config.rows[t] = kBf16Pairs;
  }
  return config;
}
static_assert(kBf16Pairs == kPanelRows && kBf16Pairs == kTileMaxRows);

/// Consecutive panels by rows row .. row_end.
struct OutputRange {
  int64_t panel, panel_end, row, row_end;
};

/// A stream of blocks of 32 columns of P panels at a time, which is unpacked in units of four outputs.
template <DType T, int P>
class Unpacker {
 public:
  static constexpr int kUnits = P * kPanelUnits;

  OCTAVO_KERNEL_PART Unpacker(const PackedMatrix& w, const OutputRange& range)
      : panel_(w.data + (size_t)range.panel * panel_bytes(T, w.cols)),
        panel_bytes_(panel_bytes(T, w.cols)),
        blocks_(w.cols / packed_block(T).block),
        groups_left_((range.panel_end - range.panel) / P - 1) {
    find_block();
  }

  /// Unit U of the block at hand. The last one goes on to the next block; behind the last panels that is their first
  /// one, so that nothing behind them is read.
  template <int U>
  OCTAVO_KERNEL_PART void unit(uint8_t* out) {
    constexpr int kPanel = U / kPanelUnits, kUnit = U % kPanelUnits;
    const uint8_t* panel = panel_ + kPanel * panel_bytes_;
    if constexpr (kUnit == 0) {
      if (part_ == 0) {
        scales_[kPanel].prepare(panel + place_.scales);
        // Otherwise GCC takes single numbers out of the registers that it has just stored, on a port that is short.
        asm volatile("" : "+m"(scales_[kPanel]));
        ask(panel + place_.scales, packed_block(T).scale_bytes);
      }
      if constexpr (kPlanes.high > 0)
        ask(panel + place_.quads + high_plane(T) + part_ * plane_bytes(kPlanes.high), plane_bytes(kPlanes.high));
    }
    constexpr int kLowBytes = plane_bytes(kPlanes.low), kUnitBytes = kLowBytes / kPanelUnits;
    ask(panel + place_.quads + part_ * kLowBytes + kUnit * kUnitBytes, kUnitBytes);
    unpack_unit<T, kUnit>(panel + place_.quads, part_, scales_[kPanel], out + kPanel * kUnpackedBytes);
    if constexpr (U == kUnits - 1) next();
  }
  OCTAVO_KERNEL_PART void all(uint8_t* out) {
    for_constants<kUnits>([&]<int U>() __attribute__((always_inline)) { unit<U>(out); });
  }

 private:
  static constexpr OutputPlanes kPlanes = output_planes(T);

  /// Asks memory for what lies kLeadBytes on in a panel's part of the stream, which the other panels' parts interrupt.
  OCTAVO_KERNEL_PART void ask(const uint8_t* from, int bytes) const {
    const uint8_t* ahead = from + kLeadBytes + (left_in_panel_ <= kLeadBytes ? (P - 1) * (int64_t)panel_bytes_ : 0);
    for (int at = 0; at < bytes; at += 64) prefetch_far(ahead + at);
  }
  OCTAVO_KERNEL_PART void next() {
    if (++part_ < packed_block(T).block / kActBlock) return;
    part_ = 0;
    if (++block_ == blocks_) {
      block_ = 0;
      if (groups_left_-- > 0) panel_ += P * panel_bytes_;
    }
    find_block();
  }
  OCTAVO_KERNEL_PART void find_block() {
    place_ = place_of_block(T, blocks_, block_);
    left_in_panel_ = (int64_t)(panel_bytes_ - place_.quads);
  }

  const uint8_t* panel_;
  size_t panel_bytes_;
  int64_t blocks_, groups_left_, block_ = 0, left_in_panel_ = 0;
  BlockPlace place_;
  int part_ = 0;
  OutputScales<T> scales_[P];
};

/// Where results go.
struct OutputsOfRows {
  const PackedMatrix& w;
  float* y;
  int64_t ldy;

  /// Stores a tile of a panel's outputs by rows, [16][16] floats, to `rows` rows from `row` on.
  OCTAVO_KERNEL_PART void store(const float* tile, int64_t panel, int64_t row, int rows) const {
    F32 of_rows[kPanelRows];
    for_constants<kPanelRows>([&]<int I>() __attribute__((always_inline)) { of_rows[I] = f32_load(tile + 16 * I); });
    f32_transpose(of_rows);
    for_constants<kPanelRows>([&]<int R>() __attribute__((always_inline)) {
      if (R < rows) store_row(of_rows[R], panel, row + R);
    });
  }
  OCTAVO_KERNEL_PART void store_row(F32 outputs, int64_t panel, int64_t row) const {
    const int64_t left = w.rows - panel * kPanelRows;
    float* to = y + row * ldy + panel * kPanelRows;
    if (left >= kPanelRows) {
      f32_store(to, outputs);
    } else {
      f32_store_n(to, outputs, (int)left);
    }
  }
};

/// One row tile: weights are unpacked kAheadBlocks blocks before their products, and instructions of tiles stand spread
/// among those that unpack.
template <DType T, int P>
OCTAVO_KERNEL_PART void few_rows(const OutputRange& range, const uint8_t* x, const OutputsOfRows& out) {
  const int rows = (int)(range.row_end - range.row);
  alignas(64) uint8_t ring[kUnpackedRing][P * kUnpackedBytes];
  alignas(64) float results[P][kPanelRows * 16];
  const TilesInUse in_use(shapes_of_rows(rows));
  const int64_t blocks = out.w.cols / kActBlock, stride = 4 * rows;
  Unpacker<T, P> unpacker(out.w, range);
  for (int b = 0; b < kAheadBlocks; ++b) unpacker.all(ring[b]);
  unsigned at = 0;
  for (int64_t panel = range.panel; panel < range.panel_end; panel += P) {
    tile_zero<0>();
    if constexpr (P == 2) tile_zero<1>();
    const uint8_t* of_block = x;
    for (int64_t b = 0; b < blocks; ++b, ++at, of_block += (size_t)rows * sizeof(ActTile<1>)) {
      const uint8_t* weights = ring[at % kUnpackedRing];
      uint8_t* unpacked = ring[(at + kAheadBlocks) % kUnpackedRing];
      tile_load<kOfActivations>(of_block, stride);
      unpacker.template unit<0>(unpacked);
      tile_load<kOfOutputs>(weights, kOutputBytes);
      unpacker.template unit<1>(unpacked);
      tile_dot_bf16<0, kOfOutputs, kOfActivations>();
      unpacker.template unit<2>(unpacked);
      unpacker.template unit<3>(unpacked);
      if constexpr (P == 2) {
        tile_load<kOfOutputs>(weights + kUnpackedBytes, kOutputBytes);
        unpacker.template unit<4>(unpacked);
        tile_dot_bf16<1, kOfOutputs, kOfActivations>();
        unpacker.template unit<5>(unpacked);
        unpacker.template unit<6>(unpacked);
        unpacker.template unit<7>(unpacked);
      }
    }
    const int64_t bytes_of_result = rows == 1 ? 4 : 64;
    tile_store<0>(results[0], bytes_of_result);
    if constexpr (P == 2) tile_store<1>(results[1], bytes_of_result);
    for_constants<P>([&]<int I>() __attribute__((always_inline)) {
      if (rows == 1) {
        out.store_row(f32_load(results[I]), panel + I, range.row);
      } else {
        out.store(results[I], panel + I, range.row, rows);
      }
    });
  }
}

/// Results that wait until the loop stores them, one panel's row tile beside a product.
template <int P>
struct WaitingResults {
  const float* next = nullptr;
  int left = 0;
  int64_t panel = 0, row = 0, row_end = 0;

  OCTAVO_KERNEL_PART void begin(const float* results, int64_t first_panel, int64_t first_row, int64_t end) {
    next = results, left = P, panel = first_panel, row = first_row, row_end = end;
  }
  OCTAVO_KERNEL_PART void store_one(const OutputsOfRows& out) {
    const int64_t rows = row_end - row;
    out.store(next, panel, row, (int)(rows < kBf16TileRows ? rows : kBf16TileRows));
    next += kPanelRows * kBf16TileRows, ++panel, --left;
  }
};

/// More rows, up to kGroupTiles row tiles: a stretch of blocks is unpacked once for all of them while the stretch
/// before it is multiplied, `Units` units at each block's products.
template <DType T, int P, int Units>
class ManyRows {
 public:
  OCTAVO_KERNEL_PART ManyRows(const OutputRange& range, const uint8_t* x, const OutputsOfRows& out)
      : range_(range), x_(x), out_(out), blocks_(out.w.cols / kActBlock), unpacker_(out.w, range) {}

  OCTAVO_KERNEL_PART void multiply() {
    const TilesInUse in_use(shapes_of_rows(kBf16TileRows));
    int64_t count = blocks_ < kStretchBlocks ? blocks_ : kStretchBlocks;
    for (int64_t b = 0; b < count; ++b) unpacker_.all(stretch_[0] + b * kStepBytes);
    int turn = 0;
    for (int64_t panel = range_.panel; panel < range_.panel_end; panel += P)
      for (int64_t first = 0; first < blocks_; turn ^= 1) {
        const int64_t end = first + count, next = end == blocks_ ? 0 : end;
        int64_t next_count = blocks_ - next < kStretchBlocks ? blocks_ - next : kStretchBlocks;
        if (panel + P == range_.panel_end && next == 0) next_count = 0;
        unpacked_ = stretch_[turn ^ 1];
        unpacked_end_ = unpacked_ + next_count * kStepBytes;
        for (int64_t row = range_.row; row < range_.row_end; row += kBf16TileRows)
          row_tile(stretch_[turn], panel, first, count, row);
        while (unpacked_ != unpacked_end_) unpack_some();
        first = end;
        count = next_count;
      }
    while (waiting_.left > 0) waiting_.store_one(out_);
  }

 private:
  static constexpr int kStepBytes = P * kUnpackedBytes, kUnits = P * kPanelUnits;
  static constexpr int kAtOnce = Units > 1 ? Units / 2 : 1;  // units at a time, once for each panel at hand

  OCTAVO_KERNEL_PART void unpack_some() {
    if (unpacked_ == unpacked_end_) return;
    const int phase = phase_;
    for_constants<kUnits / kAtOnce>([&]<int Phase>() __attribute__((always_inline)) {
      if (phase == Phase)
        for_constants<kAtOnce>(
            [&]<int I>() __attribute__((always_inline)) { unpacker_.template unit<Phase * kAtOnce + I>(unpacked_); });
    });
    if (++phase_ < kUnits / kAtOnce) return;
    phase_ = 0;
    unpacked_ += kStepBytes;
  }

  /// Blocks first .. first + count of the panels at hand by a row tile.
  OCTAVO_KERNEL_PART void row_tile(const uint8_t* weights, int64_t panel, int64_t first, int64_t count, int64_t row) {
    const int64_t left = range_.row_end - row, rows = left < kBf16TileRows ? left : kBf16TileRows;
    const size_t step = (size_t)rows * sizeof(ActTile<1>);
    const uint8_t* of_block = x_ + (size_t)(row - range_.row) * act_row_bytes(out_.w.cols) + (size_t)first * step;
    float* sums = sums_[(row - range_.row) / kBf16TileRows][0];
    const bool begins = first == 0, ends = first + count == blocks_;
    if (ends)
      for (int64_t r = 0; r < rows; ++r)
        for (int p = 0; p < P; ++p) __builtin_prefetch(out_.y + (row + r) * out_.ldy + (panel + p) * kPanelRows, 1);
    if (begins) {
      tile_zero<0>();
      if constexpr (P == 2) tile_zero<1>();
    } else {
      tile_load<0>(sums, kSumBytes);
      if constexpr (P == 2) tile_load<1>(sums + kSums, kSumBytes);
    }
    for (int64_t b = 0; b < count; ++b, of_block += step, weights += kStepBytes) {
      tile_load<kOfActivations>(of_block, 4 * rows);
      tile_load<kOfOutputs>(weights, kOutputBytes);
      tile_dot_bf16<0, kOfOutputs, kOfActivations>();
      if constexpr (P == 2) {
        if constexpr (Units > 1) unpack_some();
        tile_load<kOfOutputs>(weights + kUnpackedBytes, kOutputBytes);
        tile_dot_bf16<1, kOfOutputs, kOfActivations>();
      }
      unpack_some();
      if (waiting_.left > 0) waiting_.store_one(out_);
    }
    tile_store<0>(sums, kSumBytes);
    if constexpr (P == 2) tile_store<1>(sums + kSums, kSumBytes);
    if (!ends) return;
    while (waiting_.left > 0) waiting_.store_one(out_);
    waiting_.begin(sums, panel, row, range_.row_end);
  }

  static constexpr int kSums = kPanelRows * kBf16TileRows, kSumBytes = kBf16TileRows * 4;

  OutputRange range_;
  const uint8_t* x_;
  OutputsOfRows out_;
  int64_t blocks_;
  Unpacker<T, P> unpacker_;
  WaitingResults<P> waiting_;
  int phase_ = 0;
  uint8_t *unpacked_ = nullptr, *unpacked_end_ = nullptr;
  alignas(64) uint8_t stretch_[2][kStretchBlocks * kStepBytes];
  alignas(64) float sums_[kGroupTiles][P][kSums];
};

/// Panels in groups of P.
template <DType T, int P>
__attribute__((noinline)) void product_of_few(const OutputRange& range, const uint8_t* x, const OutputsOfRows& out) {
  few_rows<T, P>(range, x, out);
}
template <DType T, int P, int Units>
__attribute__((noinline)) void product_of_many(const OutputRange& range, const uint8_t* x, const OutputsOfRows& out) {
  ManyRows<T, P, Units> rows(range, x, out);
  rows.multiply();
}

template <DType T, int P>
OCTAVO_KERNEL_PART void product_of_rows(const OutputRange& range, const uint8_t* x, const OutputsOfRows& out) {
  const int64_t rows = range.row_end - range.row;
  if (range.panel == range.panel_end) return;
  if (rows <= kBf16TileRows) {
    product_of_few<T, P>(range, x, out);
  } else if (P == 1 || rows <= kFewTiles * kBf16TileRows) {
    product_of_many<T, P, 4>(range, x, out);
  } else {
    product_of_many<T, P, 1>(range, x, out);
  }
}

/// A MatmulFn.
template <DType T>
void matmul_bf16(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end,
                 int64_t row_begin, int64_t row_end, float* y, int64_t ldy) {
  if (panel_begin >= panel_end) return;
  const OutputsOfRows out{w, y, ldy};
  const int64_t paired = panel_end - (panel_end - panel_begin) % kPanelsAtOnce;
  constexpr int64_t kMostRows = kGroupTiles * kBf16TileRows;
  for (int64_t row = row_begin; row < row_end; row += kMostRows) {
    const int64_t end = row_end - row < kMostRows ? row_end : row + kMostRows;
    const uint8_t* x = a.bf16 + (size_t)row * act_row_bytes(a.cols);
    product_of_rows<T, kPanelsAtOnce>({panel_begin, paired, row, end}, x, out);
    product_of_rows<T, 1>({paired, panel_end, row, end}, x, out);
  }
}

// The machine's peak: four results hide what a product takes.
inline constexpr int kProbeResults = 4;

int64_t probe_bf16(int64_t rounds, const int8_t* operands, int32_t* result) {
  constexpr int kA = kProbeResults, kB = kA + 1;
  alignas(64) uint32_t words[kTileMaxRows][16];
  alignas(64) float sums[kTileMaxRows][16];
  TileConfig config;
  for (int t = 0; t <= kB; ++t) {
    config.bytes_of_row[t] = kTileRowBytes;
    config.rows[t] = kTileMaxRows;
  }
  for (auto& row : words)
    for (int i = 0; i < 16; ++i) row[i] = 0x3F803F80U + ((uint32_t)operands[i] << 16) + (uint32_t)operands[i];
  *result = 0;
  {
    const TilesInUse in_use(config);
    tile_load<kA>(words, kTileRowBytes);
    tile_load<kB>(words, kTileRowBytes);
    for_constants<kProbeResults>([&]<int C>() __attribute__((always_inline)) {
      for (auto& row : sums) f32_store(row, f32_set((float)operands[C]));
      tile_load<C>(sums, kTileRowBytes);
    });
    for (int64_t r = 0; r < rounds; ++r)
      for_constants<kProbeResults>([&]<int C>() __attribute__((always_inline)) { tile_dot_bf16<C, kA, kB>(); });
    for_constants<kProbeResults>([&]<int C>() __attribute__((always_inline)) {
      tile_store<C>(sums, kTileRowBytes);
      F32 all = f32_zero();
      for (const auto& row : sums) all = f32_add(all, f32_load(row));
      *result ^= i32_sum(f32_as_i32(all));
    });
  }
  return rounds * kProbeResults * kTileMaxRows * 16 * kActBlock;
}

template <DType... T>
void set_products_in_bf16(KernelTable& table) {
  static_assert((has_output_order(T) && ...));
  ((table.matmul[type_index(T)] = &matmul_bf16<T>, table.decode_row[type_index(T)] = &decode_row_of_outputs<T>,
    table.activation_forms[type_index(T)] = ActivationForm::kBf16Blocks,
    table.panel_orders[type_index(T)] = PanelOrder::kOutputs),
   ...);
}

/// The table of another level, with products of these types in bf16.
KernelTable table_with_bf16(const KernelTable& without) {
  KernelTable table = without;
  set_products_in_bf16<DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ4_K, DType::kQ5_K,
                       DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4>(table);
  table.row_step = kBf16TileRows;
  static_assert(kBf16TileRows % kTileRows == 0);
  table.round_row = &round_row;
  table.round_column = &round_column;
  table.probe_int8 = &probe_bf16;
  return table;
}

}  // namespace
}  // namespace octavo
