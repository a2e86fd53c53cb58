// Products of quantized weights with many rows on matrix tiles (isa/tiles_amx.h), in the bits of the level without
// them: sums of 32 products are integers, and what is made of them is the same text (add_scaled, store_tile).
//
// A tile product is one panel by 16 rows by 32 columns. While it runs, vectors scale the sums of the one that began
// three earlier and add them to 16 rows of outputs, which are registers over a run of K. Products run ahead across the
// ends of row tiles and panels, so that nothing waits but at the end of a run. Beside tiles one of the two ports that
// multiply vectors is off, so the scale step is the bound. docs/kernels.md has the reasons for the order of things.
#pragma once

#include "kernels/generic/matmul_tile.inl"

namespace octavo {
namespace {

static_assert(kLanes == kPanelRows && kTileRows == 8, "a panel is one vector, and 16 rows are two row tiles");

// The loop's shape, which `bench_matmul --isa amx` is for on a machine with tiles.

inline constexpr int kMatrixRows = 16;     // rows of activations of a tile
inline constexpr int kRunBlocks = 32;      // activation blocks of a run, at most
inline constexpr int kInFlight = 3;        // products ahead of the scale step
inline constexpr int kRing = 4;            // results and unpacked bytes that are kept: a power of 2
inline constexpr int kCopiedBlocks = 256;  // blocks of 16 rows that are copied at a time: 176 KiB of the stack
inline constexpr int kWaitingTiles = 64;   // results that wait in memory between runs, at most: 64 KiB

/// Rows from which on tiles pay.
template <DType T>
constexpr int64_t least_rows() {
  return 16;
}
/// Row tiles up to which nothing is unpacked in runs: nibbles become bytes just before each product, and bytes are read
/// in the panel.
template <DType T>
constexpr int64_t most_direct_tiles() {
  return T == DType::kQ8_0 ? 3 : 1;
}

// Two tiles are results in turn, one is of activations and one of weights. The others hold nothing: each that does
// makes a product slower where the core's other thread is at work.
inline constexpr int kOfRows = 2, kOfWeights = 3;

constexpr TileConfig shapes_of_products() {
  TileConfig config;
  for (int t = 0; t < 4; ++t) {
    config.bytes_of_row[t] = t == kOfRows ? kActBlock : kTileRowBytes;
    config.rows[t] = t == kOfWeights ? kActBlock / kQuad : kMatrixRows;
  }
  return config;
}
constexpr TileConfig kShapesOfProducts = shapes_of_products();

/// Tiles that are configured while it lives. Nothing is called meanwhile: other code may not meet them, and the system
/// saves 8 KiB more at each switch from this thread.
class TilesInUse {
 public:
  OCTAVO_KERNEL_PART explicit TilesInUse(const TileConfig& config) { tiles_configure(config); }
  OCTAVO_KERNEL_PART ~TilesInUse() { tiles_release(); }
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};

constexpr int kBlockBytes = kActBlock * kPanelRows;  // bytes of unpacked weights that meet an activation block

/// Whether weights are bytes already.
template <DType T>
constexpr bool are_bytes() {
  return packed_block(T).quad_bytes == packed_block(T).block * kPanelRows;
}

/// 32 columns of 16 rows of activations, at one stride.
struct alignas(64) JoinedRows {
  int8_t q[kMatrixRows][kActBlock];
  float scale[kMatrixRows];
  float sum32[kMatrixRows];    // set where weights have a minimum
  int32_t start[kMatrixRows];  // set where sums of products do not begin at 0: first_sum()
};

template <class Number>
OCTAVO_KERNEL_PART void join(const Number (&first)[kTileRows], const Number (&second)[kTileRows], Number* out) {
  __builtin_memcpy(out, first, sizeof first);
  __builtin_memcpy(out + kTileRows, second, sizeof second);
}

template <DType T>
constexpr bool has_start() {
  if constexpr (has_integer_scales(T)) {
    return true;
  } else {
    return byte_offset<T>() != 0;
  }
}

template <DType T>
OCTAVO_KERNEL_PART void join_rows(const ActTile<kTileRows>& first, const ActTile<kTileRows>& second, JoinedRows& out) {
  constexpr int kFloats = (int)(sizeof first.q / sizeof(float));
  for (int i = 0; i < kFloats; i += kLanes) {
    f32_store((float*)out.q + i, f32_load((const float*)first.q + i));
    f32_store((float*)out.q + kFloats + i, f32_load((const float*)second.q + i));
  }
  join(first.scale, second.scale, out.scale);
  if constexpr (has_integer_scales(T)) {
    join(first.sum_pair, second.sum_pair, out.start);
  } else {
    if constexpr (Weights<T>::kHasMin) join(first.sum32, second.sum32, out.sum32);
    if constexpr (has_start<T>()) {
      join(first.minus_sum32, second.minus_sum32, out.start);
      i32_store(out.start, i32_shl<offset_shift<T>()>(i32_load(out.start)));
    }
  }
}

/// The factors of 32 weights of each output of a panel.
template <DType T>
struct TileScales {
  F32 scale;

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, I32 dot, const JoinedRows& x, int row) const {
    return add_scaled<T>(acc, dot, scale, nullptr, x, row);
  }
};
template <DType T>
  requires(has_integer_scales(T))
struct TileScales<T> {
  I16 pairs;

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, I32 dot, const JoinedRows& x, int row) const {
    return add_scaled_pair(acc, dot, pairs, x, row);
  }
};
template <DType T>
  requires(!has_integer_scales(T) && Weights<T>::kHasMin)
struct TileScales<T> {
  F32 scale, minimum;

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, I32 dot, const JoinedRows& x, int row) const {
    return add_scaled<T>(acc, dot, scale, &minimum, x, row);
  }
};

template <DType T>
OCTAVO_KERNEL_PART void unpack_weights(const uint8_t* quads, uint8_t* out) {
  for_constants<8>([&]<int J>() __attribute__((always_inline)) {
    i32_store((int32_t*)(out + J * kTileRowBytes), Weights<T>::template quad<J>(quads, 0));
  });
}

/// A run of one panel's weights: scales, and where the bytes are, or the quads that they are made of.
template <DType T, bool Direct>
struct WeightRun {
  static constexpr int kActBlocks = packed_block(T).block / kActBlock;
  static constexpr int kQuadBytes = packed_block(T).quad_bytes / kActBlocks;
  alignas(64) uint8_t bytes[Direct ? 1 : kRunBlocks][kBlockBytes];
  TileScales<T> scales[kRunBlocks];
  const uint8_t* quads[kRunBlocks];

  /// `count` activation blocks from `first` of a panel, the beginning of a unit.
  OCTAVO_KERNEL_PART void unpack(const uint8_t* first, int count) {
    int at = 0;
    for_blocks<T>(first, count * kActBlock,
                  [&](const uint8_t*, int, const uint8_t* of_block, const uint8_t* s) __attribute__((always_inline)) {
                    if constexpr (has_integer_scales(T)) {
                      scales[at].pairs = Weights<T>::pairs(s, 0);
                    } else {
                      BlockScales<T> decoded;
                      decoded.decode(s, 0);
                      for (int g = 0; g < kActBlocks; ++g) {
                        scales[at + g].scale = decoded.scale[g];
                        if constexpr (Weights<T>::kHasMin) scales[at + g].minimum = decoded.minimum[g];
                      }
                    }
                    for (int g = 0; g < kActBlocks; ++g, ++at) {
                      const uint8_t* packed = of_block + g * kQuadBytes;
                      if constexpr (!Direct) unpack_weights<T>(packed, bytes[at]);
                      quads[at] = Direct ? packed : bytes[at];
                    }
                  });
  }
};

/// The memory of a call's products.
template <DType T, bool Direct>
struct TileMemory {
  JoinedRows rows[kCopiedBlocks];  // [row tile][block of the run]
  WeightRun<T, Direct> runs[2];    // the runs of the panel at hand and of the next one
  F32 sums[kWaitingTiles][kMatrixRows];
  alignas(64) int32_t results[kRing][kMatrixRows][kPanelRows];
  alignas(64) uint8_t bytes[kRing][kBlockBytes];
};

/// The places of the next product's activations and weights.
struct NextProduct {
  const JoinedRows* rows;
  const uint8_t* const* quads;
};

/// The way through a run: products, which are ahead, and the scale steps.
template <DType T, bool Direct>
struct TilePipeline {
  TileMemory<T, Direct>& memory;
  NextProduct next;
  NextPanels ask;
  unsigned at = 0;  // scale steps so far

  OCTAVO_KERNEL_PART void load(unsigned number) {
    tile_load<kOfRows>(next.rows->q, kActBlock);
    if constexpr (Direct && !are_bytes<T>()) {
      uint8_t* bytes = memory.bytes[number % kRing];
      unpack_weights<T>(*next.quads, bytes);
      tile_load<kOfWeights>(bytes, kTileRowBytes);
    } else {
      tile_load<kOfWeights>(*next.quads, kTileRowBytes);
    }
    ++next.rows, ++next.quads;
  }
  template <int Result>
  OCTAVO_KERNEL_PART void product() {
    tile_zero<Result>();
    tile_dot_signed_unsigned<Result, kOfRows, kOfWeights>();
  }
  template <int Result>
  OCTAVO_KERNEL_PART void store(unsigned number) {
    tile_store<Result>(memory.results[number % kRing], kPanelRows * sizeof(int32_t));
  }

  /// The products ahead of the first scale step. The last of them is stored by that.
  OCTAVO_KERNEL_PART void begin() {
    static_assert(kInFlight == 3);
    load(0), product<0>();
    load(1), product<1>(), store<0>(0);
    load(2), product<0>(), store<1>(1);
  }

  /// The product three blocks ahead, the store of the one before it, and the scale step of the block at hand. Stores
  /// are late, because one that waited for its product would hold up the next product's loads.
  OCTAVO_KERNEL_PART void step(const JoinedRows& x, const TileScales<T>& scales, F32 (&acc)[kMatrixRows]) {
    ask.read_far();
    load(at + kInFlight);
    if (at % 2 == 0) {
      product<1>(), store<0>(at + kInFlight - 1);
    } else {
      product<0>(), store<1>(at + kInFlight - 1);
    }
    const int32_t(*result)[kPanelRows] = memory.results[at % kRing];
    for_constants<kMatrixRows>([&]<int R>() __attribute__((always_inline)) {
      I32 dot = i32_load(result[R]);
      if constexpr (has_start<T>()) dot = i32_add(dot, i32_set(x.start[R]));
      acc[R] = scales.add_to(acc[R], dot, x, R);
    });
    ++at;
  }
};

/// A run of K: `count` blocks from `first` on.
struct ColumnRun {
  int64_t first;
  int count;
  bool begins, ends;  // whether sums begin in it, and end
};

/// Runs of about equal length, which end where units of blocks do; the shortest has kInFlight blocks and more.
template <DType T>
OCTAVO_KERNEL_PART ColumnRun run_from(int64_t first, int64_t blocks) {
  constexpr int64_t kStep = unit_blocks(T) * packed_block(T).block / kActBlock;
  const int64_t left = blocks - first, runs = (left + kRunBlocks - 1) / kRunBlocks;
  int64_t count = ((left + runs - 1) / runs + kStep - 1) / kStep * kStep;
  if (count > left) count = left;
  return {first, (int)count, first == 0, first + count == blocks};
}
constexpr int64_t kLeastBlocks = 4;

/// Consecutive panels by row tiles of kMatrixRows rows from row `row` on.
struct TileRange {
  int64_t panel, panels, row, tiles;
};

template <DType T, bool Direct>
struct TileProducts {
  const PackedMatrix& w;
  const ActivationRows& a;
  float* y;
  int64_t ldy;
  TileMemory<T, Direct>& memory;

  OCTAVO_KERNEL_PART const uint8_t* weights(int64_t panel, int64_t block) const {
    constexpr PackedBlock kB = packed_block(T);
    return w.data + (size_t)panel * panel_bytes(T, w.cols) +
           (size_t)(block * kActBlock / kB.block) * (size_t)(kB.quad_bytes + kB.scale_bytes);
  }

  OCTAVO_KERNEL_PART void join_rows_of(const TileRange& range, const ColumnRun& run) const {
    JoinedRows* out = memory.rows;
    for (int64_t t = 0; t < range.tiles; ++t) {
      const auto* first =
          (const ActTile<kTileRows>*)(a.tiles + (size_t)(range.row + t * kMatrixRows) * act_row_bytes(a.cols)) +
          run.first;
      const auto* second = first + a.cols / kActBlock;
      for (int b = 0; b < run.count; ++b) join_rows<T>(*first++, *second++, *out++);
    }
  }

  /// One panel by one row tile, over the run. `after` is where the products go on.
  OCTAVO_KERNEL_PART void tile(TilePipeline<T, Direct>& pipeline, const WeightRun<T, Direct>& weights_of,
                               const ColumnRun& run, int64_t panel, int64_t row, const JoinedRows* x, F32* sums,
                               const NextProduct& after) const {
    const OutputPlace out{0, panel * kPanelRows, y, ldy};
    F32 acc[kMatrixRows];
    for_constants<kMatrixRows>([&]<int R>() __attribute__((always_inline)) {
      acc[R] = run.begins ? f32_zero() : sums[R];
      // Outputs that came from far would block the stores of results behind them, which commit in order.
      if (run.ends) __builtin_prefetch(y + (row + R) * ldy + out.output, 1);
    });
    const TileScales<T>* scales = weights_of.scales;
    for (int left = run.count; left > 0; --left) {
      if (left == kInFlight) pipeline.next = after;
      pipeline.step(*x++, *scales++, acc);
    }
    F32 results[1][kMatrixRows];
    F32* to = run.ends ? results[0] : sums;
    for_constants<kMatrixRows>([&]<int R>() __attribute__((always_inline)) { to[R] = acc[R]; });
    if (run.ends) store_tile<T, 1, kMatrixRows>({weights(panel, 0), panel_bytes(T, w.cols)}, w, out, row, results);
  }

  OCTAVO_KERNEL_PART void run_of(const TileRange& range, const ColumnRun& run, const uint8_t* behind) const {
    memory.runs[0].unpack(weights(range.panel, run.first), run.count);
    const size_t bytes = (size_t)(weights(0, run.count) - weights(0, 0));
    const int64_t reads = range.tiles * run.count;
    TilePipeline<T, Direct> pipeline{memory, {memory.rows, memory.runs[0].quads}, {behind, bytes, reads}};
    pipeline.begin();
    F32* sums = memory.sums[0];
    for (int64_t p = 0; p < range.panels; ++p) {
      const WeightRun<T, Direct>& at_hand = memory.runs[p % 2];
      const bool is_last = p + 1 == range.panels;
      const uint8_t* next = weights(range.panel + p + 1, run.first);
      pipeline.ask = {is_last ? behind : next, bytes, reads};
      const JoinedRows* x = memory.rows;
      for (int64_t t = 0; t < range.tiles; ++t, x += run.count, sums += run.begins && run.ends ? 0 : kMatrixRows) {
        NextProduct after{x + run.count, at_hand.quads};
        if (t + 1 == range.tiles) {  // after the last panel some blocks are multiplied that nobody reads
          if (!is_last) memory.runs[(p + 1) % 2].unpack(next, run.count);
          after = {memory.rows, memory.runs[is_last ? p % 2 : (p + 1) % 2].quads};
        }
        tile(pipeline, at_hand, run, range.panel + p, range.row + t * kMatrixRows, x, sums, after);
      }
    }
  }

  OCTAVO_KERNEL_PART void multiply(const TileRange& range) const {
    const int64_t blocks = w.cols / kActBlock;
    for (int64_t first = 0; first < blocks;) {
      const ColumnRun run = run_from<T>(first, blocks);
      join_rows_of(range, run);
      run_of(range, run, run.ends ? weights(range.panel + range.panels, 0) : weights(range.panel, first + run.count));
      first += run.count;
    }
  }
};

/// The range in parts for which the memory is enough: row tiles whose copies it holds, and panels whose sums can wait.
template <DType T, bool Direct>
__attribute__((noinline)) void tile_products(const PackedMatrix& w, const ActivationRows& a, const TileRange& range,
                                             float* y, int64_t ldy) {
  TileMemory<T, Direct> memory;
  const TileProducts<T, Direct> products{w, a, y, ldy, memory};
  const int64_t blocks = w.cols / kActBlock, of_run = run_from<T>(0, blocks).count;
  const int64_t most = kCopiedBlocks / of_run, groups = (range.tiles + most - 1) / most;
  const int64_t tiles = (range.tiles + groups - 1) / groups;
  const int64_t panels = of_run == blocks ? range.panels : kWaitingTiles / tiles;
  const TilesInUse in_use(kShapesOfProducts);
  for (int64_t t = 0; t < range.tiles; t += tiles)
    for (int64_t p = 0; p < range.panels; p += panels)
      products.multiply({range.panel + p, range.panels - p < panels ? range.panels - p : panels,
                         range.row + t * kMatrixRows, range.tiles - t < tiles ? range.tiles - t : tiles});
}

/// A MatmulFn: tiles for whole sixteens of rows, and the level without tiles for the rest.
template <DType T>
void matmul_amx(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end,
                int64_t row_begin, int64_t row_end, float* y, int64_t ldy) {
  if (panel_begin >= panel_end) return;
  const int64_t rows = row_end - row_begin;
  const bool pays = rows >= least_rows<T>() && w.cols >= kLeastBlocks * kActBlock;
  const int64_t tiles = pays ? rows / kMatrixRows : 0;
  const TileRange range{panel_begin, panel_end - panel_begin, row_begin, tiles};
  if (tiles > most_direct_tiles<T>()) {
    tile_products<T, false>(w, a, range, y, ldy);
  } else if (tiles > 0) {
    tile_products<T, true>(w, a, range, y, ldy);
  }
  if (const int64_t row = row_begin + tiles * kMatrixRows; row < row_end)
    octavo_kernels_avx512vnni()->matmul[type_index(T)](w, a, panel_begin, panel_end, row, row_end, y, ldy);
}

// The machine's peak is measured with products of 32 columns, as the kernels have them: a product takes as long for 64.
// Four results hide what one takes.
inline constexpr int kProbeTiles = 4;

int64_t probe_tiles(int64_t rounds, const int8_t* operands, int32_t* result) {
  constexpr int kA = kProbeTiles, kB = kA + 1;
  alignas(64) int8_t bytes[kMatrixRows][kTileRowBytes];
  alignas(64) int32_t sums[kMatrixRows][kPanelRows];
  TileConfig config;
  for (int t = 0; t <= kB; ++t) {
    config.bytes_of_row[t] = t == kA ? kActBlock : kTileRowBytes;
    config.rows[t] = t == kB ? kActBlock / kQuad : kMatrixRows;
  }
  for (auto& row : bytes)
    for (int i = 0; i < kTileRowBytes; ++i) row[i] = operands[i % 16];
  I32 all = i32_zero();
  {
    const TilesInUse in_use(config);
    tile_load<kA>(bytes, kTileRowBytes);
    tile_load<kB>(bytes, kTileRowBytes);
    for_constants<kProbeTiles>([&]<int C>() __attribute__((always_inline)) {
      for (auto& row : sums) i32_store(row, i32_set(operands[C]));
      tile_load<C>(sums, kTileRowBytes);
    });
    for (int64_t r = 0; r < rounds; ++r)
      for_constants<kProbeTiles>([&]<int C>()
                                     __attribute__((always_inline)) { tile_dot_signed_unsigned<C, kA, kB>(); });
    *result = 0;
    for_constants<kProbeTiles>([&]<int C>() __attribute__((always_inline)) {
      tile_store<C>(sums, kTileRowBytes);
      all = i32_zero();
      for (const auto& row : sums) all = i32_add(all, i32_load(row));
      *result ^= i32_sum(all);
    });
  }
  return rounds * kProbeTiles * kMatrixRows * kPanelRows * kActBlock;
}

template <DType... T>
void set_tile_products(KernelTable& table) {
  ((table.matmul[type_index(T)] = &matmul_amx<T>), ...);
}

/// The table of the level without tiles, with products on them. Sub-blocks of 16 weights would be products of 16
/// columns, a quarter of the peak.
KernelTable table_with_tiles(const KernelTable& without) {
  KernelTable table = without;
  set_tile_products<DType::kQ4_0, DType::kQ4_1, DType::kQ8_0, DType::kQ4_K>(table);
  table.probe_int8 = &probe_tiles;
  return table;
}

}  // namespace
}  // namespace octavo
