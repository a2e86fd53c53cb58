// Products of quantized weights with many rows on matrix tiles (isa/tiles_amx.h), in the bits of the level without
// them: sums of 32 products are integers, and what is made of them is the same text (add_scaled).
//
// A tile product is one panel by 16 rows by 32 columns. While it runs, vectors scale the sums of the one that began
// three earlier and add them to 16 rows of outputs, which are registers over a run of K. Products run ahead across the
// ends of row tiles, runs and panels, so that nothing waits within a call. Beside tiles one of the two ports that
// multiply vectors is off, so the scale step is the bound. docs/kernels.md has the reasons for the order of things.
#pragma once

#include "kernels/generic/matmul_tile.inl"
#include "kernels/generic/tiles_in_use.inl"

namespace octavo {
namespace {

static_assert(kLanes == kPanelRows && 2 * kTileRows == kJoinedRows,
              "a panel is one vector, and 16 rows are two row tiles");

// The loop's shape, which `bench_matmul --isa amx` is for on a machine with tiles.

inline constexpr int kRunBlocks = 32;           // activation blocks of a run, at most
inline constexpr int kInFlight = 3;             // products ahead of the scale step
inline constexpr int kRing = 4;                 // results and unpacked bytes that are kept: a power of 2
inline constexpr int kLeastRows = kJoinedRows;  // from which on tiles pay
/// Row tiles up to which weights are not unpacked in runs, but just before each product.
inline constexpr int kDirectTiles = 1;
inline constexpr int kWaitingTiles = 32;  // row tiles whose sums wait in memory between runs, at most: 32 KiB

// Two tiles are results in turn, one is of activations and one of weights. The others hold nothing: each that does
// makes a product slower where the core's other thread is at work.
inline constexpr int kOfRows = 2, kOfWeights = 3;

/// The products of an activation block: each has a scale.
template <DType T>
constexpr int num_parts() {
  return kActBlock / Weights<T>::kSubBlock;
}

template <int Parts>
constexpr TileConfig shapes_of_products() {
  TileConfig config;
  for (int t = 0; t < 4; ++t) {
    config.bytes_of_row[t] = t == kOfRows ? kActBlock / Parts : kTileRowBytes;
    config.rows[t] = t == kOfWeights ? kActBlock / kQuad / Parts : kJoinedRows;
  }
  return config;
}
template <int Parts>
inline constexpr TileConfig kShapesOfProducts = shapes_of_products<Parts>();

constexpr int kBlockBytes = kActBlock * kPanelRows;  // bytes of unpacked weights that meet an activation block

/// The sums of a row's products with 32 weights of each output of a panel.
template <DType T>
using Dots = I32[num_parts<T>()];

/// The factors of 32 weights of each output of a panel.
template <DType T>
struct TileScales {
  F32 scale;

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, const Dots<T>& dot, const ActTile<kTileRows>& x, int row) const {
    return add_scaled<T>(acc, dot[0], scale, nullptr, x, row);
  }
};
template <DType T>
  requires(has_integer_scales(T))
struct TileScales<T> {
  I16 pairs;

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, const Dots<T>& dot, const ActTile<kTileRows>& x, int row) const {
    const I16 pair = i16_pair_with_upper(dot[0], i32_set(x.sum_pair[row]));
    return f32_fma(i32_to_f32(i32_sums_of_pairs(pair, pairs)), f32_set(x.scale[row]), acc);
  }
};
template <DType T>
  requires(!has_integer_scales(T) && Weights<T>::kHasMin)
struct TileScales<T> {
  F32 scale, minimum;

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, const Dots<T>& dot, const ActTile<kTileRows>& x, int row) const {
    return add_scaled<T>(acc, dot[0], scale, &minimum, x, row);
  }
};
template <DType T>
  requires(!has_integer_scales(T) && num_parts<T>() == 2)
struct TileScales<T> {
  static_assert(!Weights<T>::kHasMin, "two more multiply-adds would leave tiles no gain");
  F32 scale[2];

  OCTAVO_KERNEL_PART F32 add_to(F32 acc, const Dots<T>& dot, const ActTile<kTileRows>& x, int row) const {
    const F32 sum = f32_fma(i32_to_f32(dot[1]), scale[1], f32_mul(i32_to_f32(dot[0]), scale[0]));
    return f32_fma(sum, f32_set(x.scale[row]), acc);
  }
};

/// The difference between a byte and what it stands for in sums of products.
template <DType T>
constexpr int offset_of_bytes() {
  if constexpr (has_integer_scales(T)) {
    return 8;  // the lower half of a pair of sums is that of products with q - 8
  } else {
    return byte_offset<T>();
  }
}

/// 32 columns of a panel: those of activation block g of the weights' block whose quads are at `block`; or, of bytes
/// that were unpacked, number 0 of their own.
struct BlockQuads {
  const uint8_t* block;
  int g;
};

/// 32 columns of a panel as signed bytes, whose sums of products begin at 0.
template <DType T>
OCTAVO_KERNEL_PART void unpack_weights(const BlockQuads& quads, uint8_t* out) {
  constexpr int kOffset = offset_of_bytes<T>();
  for_constants<8>([&]<int J>() __attribute__((always_inline)) {
    const U8 bytes = Weights<T>::template quad<J>(quads.block, quads.g);
    i32_store((int32_t*)(out + J * kTileRowBytes), kOffset == 0 ? bytes : u8_sub(bytes, kOffset));
  });
}

/// A run of one panel's weights: scales, and where the bytes are, or the quads that they are made of.
template <DType T, bool Direct>
struct WeightRun {
  static constexpr PackedBlock kB = packed_block(T);
  static constexpr int kActBlocks = kB.block / kActBlock, kUnit = unit_blocks(T);
  static_assert(kActBlocks == 1 || kActBlocks % 2 == 0);
  alignas(64) uint8_t bytes[Direct ? 1 : kRunBlocks][kBlockBytes];
  TileScales<T> scales[kRunBlocks];
  BlockQuads quads[kRunBlocks];

  OCTAVO_KERNEL_PART void unpack_scales(const uint8_t* packed, int at) {
    if constexpr (has_integer_scales(T)) {
      scales[at].pairs = Weights<T>::pairs(packed, 0);
    } else {
      BlockScales<T> decoded;
      decoded.decode(packed, 0);
      for (int g = 0; g < kActBlocks; ++g) {
        if constexpr (num_parts<T>() == 2) {
          scales[at + g].scale[0] = decoded.scale[2 * g], scales[at + g].scale[1] = decoded.scale[2 * g + 1];
        } else {
          scales[at + g].scale = decoded.scale[g];
          if constexpr (Weights<T>::kHasMin) scales[at + g].minimum = decoded.minimum[g];
        }
      }
    }
  }
  OCTAVO_KERNEL_PART void unpack_quads(const BlockQuads& packed, int at) {
    if constexpr (!Direct) unpack_weights<T>(packed, bytes[at]);
    quads[at] = Direct ? packed : BlockQuads{bytes[at], 0};
  }

  /// Activation blocks `at`, an even number, and `at` + 1 of the run's `count` from `first` on, the beginning of a
  /// unit.
  OCTAVO_KERNEL_PART void unpack_pair(const uint8_t* first, int at, int count) {
    constexpr int kBytes = kB.quad_bytes + kB.scale_bytes;
    for (int i = at; i < at + 2; ++i) {
      const uint8_t* unit = first + i / kActBlocks / kUnit * kUnit * kBytes;
      const int of_unit = i / kActBlocks % kUnit, left = count / kActBlocks - i / kActBlocks + of_unit;
      const uint8_t* block = unit + unit_scale_bytes(T, left < kUnit ? left : kUnit) + of_unit * kB.quad_bytes;
      if (i % kActBlocks == 0) unpack_scales(unit + of_unit * kB.scale_bytes, i);
      unpack_quads({block, i % kActBlocks}, i);
    }
  }
};

/// The unpacking of a run, two activation blocks at a time.
template <DType T, bool Direct>
struct RunToUnpack {
  WeightRun<T, Direct>* run;
  const uint8_t* first;
  int at, count;  // what is done, and all of them: even numbers

  OCTAVO_KERNEL_PART void unpack_pair() {
    if (at < count) run->unpack_pair(first, at, count), at += 2;
  }
  OCTAVO_KERNEL_PART void unpack_rest() {
    for (; at < count; at += 2) run->unpack_pair(first, at, count);
  }
};

/// The memory of a call's products.
template <DType T, bool Direct>
struct TileMemory {
  WeightRun<T, Direct> runs[2];  // the run at hand and the next one
  F32 sums[kWaitingTiles][kJoinedRows];
  alignas(64) int32_t results[kRing][num_parts<T>()][kJoinedRows][kPanelRows];
  alignas(64) uint8_t bytes[kRing][kBlockBytes];
};

/// The places of the next product's activations and weights.
struct NextProduct {
  const int8_t* rows;
  const BlockQuads* quads;
};

/// The block at hand of a row tile's scales and sums: rows 0 to 7, and rows 8 to 15.
struct RowPair {
  const ActTile<kTileRows>*first, *second;
};

/// The way through a call's blocks: products, which are ahead, and the scale steps.
template <DType T, bool Direct>
struct TilePipeline {
  static constexpr int kParts = num_parts<T>();
  TileMemory<T, Direct>& memory;
  NextProduct next;
  NextPanels ask;
  unsigned at = 0;  // scale steps so far: an even number where a row tile begins

  /// Direct: bytes are unpacked a block ahead, as a load of what was just stored would wait.
  OCTAVO_KERNEL_PART void unpack_next(unsigned number) {
    if constexpr (Direct) unpack_weights<T>(*next.quads++, memory.bytes[number % kRing]);
  }
  /// Begins part Part of the product of block `number`, an even or an odd one, and stores the part before it. Stores
  /// are late, because one that waited for its product would hold up the next product's loads.
  template <int Odd, int Part>
  OCTAVO_KERNEL_PART void product(unsigned number, bool stores = true) {
    constexpr int kResult = (Odd * kParts + Part) % 2, kBefore = Part == 0 ? kParts - 1 : Part - 1;
    const uint8_t* weights = Direct ? memory.bytes[number % kRing] : next.quads->block;
    tile_load<kOfRows>(next.rows + Part * kActBlock / kParts, kActBlock);
    tile_load<kOfWeights>(weights + Part * kBlockBytes / kParts, kTileRowBytes);
    if constexpr (Part + 1 == kParts) {
      next.rows += kJoinedRows * kActBlock;
      if constexpr (!Direct) ++next.quads;
    }
    tile_zero<kResult>();
    tile_dot<kResult, kOfRows, kOfWeights>();
    if (stores)
      tile_store<1 - kResult>(memory.results[(Part == 0 ? number - 1 : number) % kRing][kBefore],
                              kPanelRows * sizeof(int32_t));
  }
  template <int Odd>
  OCTAVO_KERNEL_PART void products(unsigned number, bool stores = true) {
    product<Odd, 0>(number, stores);
    if constexpr (kParts == 2) product<Odd, 1>(number);
  }

  /// The products ahead of the first scale step. The last of them is stored by that.
  OCTAVO_KERNEL_PART void begin() {
    static_assert(kInFlight == 3);
    unpack_next(0), products<0>(0, false);
    unpack_next(1), products<1>(1);
    unpack_next(2), products<0>(2);
    unpack_next(3);
  }

  /// The product three blocks ahead, and the scale step of the block at hand, whose number is even or odd (Odd).
  template <int Odd>
  OCTAVO_KERNEL_PART void step(RowPair& x, const TileScales<T>& scales, F32 (&acc)[kJoinedRows]) {
    ask.read_far();
    products<1 - Odd>(at + kInFlight);
    unpack_next(at + kInFlight + 1);
    const int32_t(&results)[kParts][kJoinedRows][kPanelRows] = memory.results[at % kRing];
    for_constants<kJoinedRows>([&]<int R>() __attribute__((always_inline)) {
      Dots<T> dot;
      for_constants<kParts>([&]<int Part>() __attribute__((always_inline)) { dot[Part] = i32_load(results[Part][R]); });
      acc[R] = scales.add_to(acc[R], dot, R < kTileRows ? *x.first : *x.second, R % kTileRows);
    });
    ++at, ++x.first, ++x.second;
  }
};

/// A run of K: `count` blocks from `first` on, an even number.
struct ColumnRun {
  int64_t first;
  int count;
  bool begins, ends;  // whether sums begin in it, and end
};

/// Columns that make runs: two blocks of activations, and four at least.
constexpr int64_t kColumnStep = 2 * kActBlock, kLeastColumns = 4 * kActBlock;
static_assert(kLeastColumns / kActBlock > kInFlight);

/// Runs of about equal length, which end where units of blocks do.
template <DType T>
OCTAVO_KERNEL_PART ColumnRun run_from(int64_t first, int64_t blocks) {
  constexpr int64_t kUnit = unit_blocks(T) * packed_block(T).block / kActBlock, kStep = kUnit > 2 ? kUnit : 2;
  const int64_t left = blocks - first, runs = (left + kRunBlocks - 1) / kRunBlocks;
  int64_t count = ((left + runs - 1) / runs + kStep - 1) / kStep * kStep;
  if (count > left) count = left;
  return {first, (int)count, first == 0, first + count == blocks};
}

/// Makes a compiler compute the address where it is used: GCC 12 has those of sixteen rows ready on the stack, and
/// moves each with each row tile.
template <class T>
OCTAVO_KERNEL_PART void compute_here(T*& p) {
  asm("" : "+r"(p));
}

/// Consecutive panels by row tiles of kJoinedRows rows from row `row` on.
struct TileRange {
  int64_t panel, panels, row, tiles;
};

template <DType T, bool Direct>
struct TileProducts {
  PackedMatrix w;
  ActivationRows a;
  float* y;
  int64_t ldy;
  TileMemory<T, Direct>& memory;

  OCTAVO_KERNEL_PART const uint8_t* weights(int64_t panel, int64_t block) const {
    constexpr PackedBlock kB = packed_block(T);
    return w.data + (size_t)panel * panel_bytes(T, w.cols) +
           (size_t)(block * kActBlock / kB.block) * (size_t)(kB.quad_bytes + kB.scale_bytes);
  }
  /// The bytes of 16 rows from row `row` on, from block `block` on.
  OCTAVO_KERNEL_PART const int8_t* joined(int64_t row, int64_t block) const {
    return a.joined + row * a.cols + block * kJoinedRows * kActBlock;
  }
  OCTAVO_KERNEL_PART RowPair pair(int64_t row, int64_t block) const {
    const auto* first = (const ActTile<kTileRows>*)(a.tiles + (size_t)row * act_row_bytes(a.cols)) + block;
    return {first, first + a.cols / kActBlock};
  }

  OCTAVO_KERNEL_PART void store_sums(int64_t panel, int64_t row, F32 (&acc)[kJoinedRows]) const {
    if constexpr (has_integer_scales(T)) {
      const F32 unit = f32_load((const float*)(weights(panel, 0) + place_of_units(T, w.cols)));
      for_constants<kJoinedRows>([&]<int R>() __attribute__((always_inline)) { acc[R] = f32_mul(acc[R], unit); });
    }
    float* out = y + row * ldy + panel * kPanelRows;
    const auto store = [&](const auto& of_row) __attribute__((always_inline)) {
      for_constants<kJoinedRows>([&]<int R>() __attribute__((always_inline)) {
        compute_here(out);
        of_row(acc[R]);
        out += ldy;
      });
    };
    if (const int64_t left = w.rows - panel * kPanelRows; left >= kLanes) {
      store([&](F32 sums) __attribute__((always_inline)) { f32_store(out, sums); });
    } else {
      store([&](F32 sums) __attribute__((always_inline)) { f32_store_n(out, sums, (int)left); });
    }
  }

  /// One panel by one row tile, over the run. `after` is where the products go on. The last row tile (Last) unpacks the
  /// following run beside its products, which leave time for that to a port that multiplies nothing meanwhile.
  template <bool Last>
  OCTAVO_KERNEL_PART void tile(TilePipeline<T, Direct>& pipeline, const WeightRun<T, Direct>& weights_of,
                               const ColumnRun& run, int64_t panel, int64_t row, F32* sums, const NextProduct& after,
                               RunToUnpack<T, Direct>& following) const {
    F32 acc[kJoinedRows];
    for_constants<kJoinedRows>([&]<int R>()
                                   __attribute__((always_inline)) { acc[R] = run.begins ? f32_zero() : sums[R]; });
    if (run.ends) {  // outputs that came from far would block the stores of results behind them, which commit in order
      const float* out = y + row * ldy + panel * kPanelRows;
      for (int r = 0; r < kJoinedRows; ++r, out += ldy) {
        compute_here(out);
        __builtin_prefetch(out, 1);
      }
    }
    RowPair x = pair(row, run.first);
    const TileScales<T>* scales = weights_of.scales;
    for (int left = run.count; left > 0; left -= 2) {
      if constexpr (Last && !Direct) following.unpack_pair();
      if (left == kInFlight + 1) {
        if constexpr (Last) following.unpack_rest();
        if constexpr (Direct) pipeline.next.quads = after.quads;
      }
      pipeline.template step<0>(x, *scales++, acc);
      if (left == kInFlight + 1) {
        pipeline.next.rows = after.rows;
        if constexpr (!Direct) pipeline.next.quads = after.quads;
      }
      pipeline.template step<1>(x, *scales++, acc);
    }
    if (run.ends) {
      store_sums(panel, row, acc);
    } else {
      for_constants<kJoinedRows>([&]<int R>() __attribute__((always_inline)) { sums[R] = acc[R]; });
    }
  }

  OCTAVO_KERNEL_PART void multiply(const TileRange& range) const {
    const int64_t blocks = w.cols / kActBlock, last_panel = range.panel + range.panels - 1;
    ColumnRun run = run_from<T>(0, blocks);
    RunToUnpack<T, Direct> following{&memory.runs[0], weights(range.panel, 0), 0, run.count};
    following.unpack_rest();
    const NextPanels next_panel{weights(range.panel + 1, 0), panel_bytes(T, w.cols), range.tiles * blocks};
    TilePipeline<T, Direct> pipeline{memory, {joined(range.row, 0), memory.runs[0].quads}, next_panel};
    pipeline.begin();
    int turn = 0;
    for (int64_t panel = range.panel; panel <= last_panel; turn = 1 - turn) {
      const WeightRun<T, Direct>& at_hand = memory.runs[turn];
      const bool is_last = run.ends && panel == last_panel;
      int64_t row = range.row;
      F32* sums = memory.sums[0];
      for (int64_t t = 1; t < range.tiles; ++t, row += kJoinedRows, sums += kJoinedRows)
        tile<false>(pipeline, at_hand, run, panel, row, sums, {joined(row + kJoinedRows, run.first), at_hand.quads},
                    following);
      const ColumnRun next = run.ends ? run_from<T>(0, blocks) : run_from<T>(run.first + run.count, blocks);
      WeightRun<T, Direct>& other = memory.runs[1 - turn];
      following = {&other, weights(panel + run.ends, next.first), 0, is_last ? 0 : next.count};
      // After the last run some of its blocks are multiplied again, which nobody reads.
      tile<true>(pipeline, at_hand, run, panel, row, sums,
                 {joined(range.row, next.first), is_last ? at_hand.quads : other.quads}, following);
      panel += run.ends;
      if (run.ends) pipeline.ask.next = weights(panel + 1, 0);
      run = next;
    }
  }
};

template <DType T, bool Direct>
__attribute__((noinline)) void tile_products(const PackedMatrix& w, const ActivationRows& a, const TileRange& range,
                                             float* y, int64_t ldy) {
  TileMemory<T, Direct> memory;
  const TileProducts<T, Direct> products{w, a, y, ldy, memory};
  const TilesInUse in_use(kShapesOfProducts<num_parts<T>()>);
  for (int64_t t = 0; t < range.tiles; t += kWaitingTiles) {
    const int64_t tiles = range.tiles - t < kWaitingTiles ? range.tiles - t : kWaitingTiles;
    products.multiply({range.panel, range.panels, range.row + t * kJoinedRows, tiles});
  }
}

/// A MatmulFn: tiles for rows that were joined, and the level without tiles for the rest.
template <DType T>
void matmul_amx(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end,
                int64_t row_begin, int64_t row_end, float* y, int64_t ldy) {
  if (panel_begin >= panel_end) return;
  const MatmulFn without = octavo_kernels_avx512vnni()->matmul[type_index(T)];
  const int64_t first = (row_begin + kJoinedRows - 1) / kJoinedRows * kJoinedRows;
  const int64_t tiles = row_end / kJoinedRows - first / kJoinedRows;
  const bool fits = a.joined != nullptr && w.cols % kColumnStep == 0 && w.cols >= kLeastColumns;
  if (!fits || tiles * kJoinedRows < kLeastRows)
    return without(w, a, panel_begin, panel_end, row_begin, row_end, y, ldy);
  if (row_begin < first) without(w, a, panel_begin, panel_end, row_begin, first, y, ldy);
  const TileRange range{panel_begin, panel_end - panel_begin, first, tiles};
  if (tiles > kDirectTiles) {
    tile_products<T, false>(w, a, range, y, ldy);
  } else {
    tile_products<T, true>(w, a, range, y, ldy);
  }
  if (const int64_t row = first + tiles * kJoinedRows; row < row_end)
    without(w, a, panel_begin, panel_end, row, row_end, y, ldy);
}

/// The int8 form of a row, and its bytes beside those of the rows around it.
void quantize_row_joined(const float* x, int64_t n, const ActPlace& out) {
  octavo_kernels_avx512vnni()->quantize_row(x, n, out);
  if (out.joined == nullptr) return;
  const uint8_t* q = out.tile + out.row * kActBlock;
  int8_t* to = out.joined;
  for (int64_t block = 0; block < n / kActBlock; ++block) {
    __builtin_memcpy(to, q, kActBlock);
    q += (size_t)out.rows * sizeof(ActTile<1>), to += kJoinedRows * kActBlock;
  }
}
void quantize_column_joined(const float* x, int64_t stride, int count, const ActPlace& out) {
  octavo_kernels_avx512vnni()->quantize_column(x, stride, count, out);
  if (out.joined == nullptr) return;
  const uint8_t* q = out.tile + out.row * kActBlock;
  for (int row = 0; row < count; ++row) __builtin_memcpy(out.joined + row * kActBlock, q + row * kActBlock, kActBlock);
}

// The machine's peak is measured with products of 32 columns, as the kernels have them: a product takes as long for 64.
// Four results hide what one takes.
inline constexpr int kProbeTiles = 4;

int64_t probe_tiles(int64_t rounds, const int8_t* operands, int32_t* result) {
  constexpr int kA = kProbeTiles, kB = kA + 1;
  alignas(64) int8_t bytes[kJoinedRows][kTileRowBytes];
  alignas(64) int32_t sums[kJoinedRows][kPanelRows];
  TileConfig config;
  for (int t = 0; t <= kB; ++t) {
    config.bytes_of_row[t] = t == kA ? kActBlock : kTileRowBytes;
    config.rows[t] = t == kB ? kActBlock / kQuad : kJoinedRows;
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
      for_constants<kProbeTiles>([&]<int C>() __attribute__((always_inline)) { tile_dot<C, kA, kB>(); });
    *result = 0;
    for_constants<kProbeTiles>([&]<int C>() __attribute__((always_inline)) {
      tile_store<C>(sums, kTileRowBytes);
      all = i32_zero();
      for (const auto& row : sums) all = i32_add(all, i32_load(row));
      *result ^= i32_sum(all);
    });
  }
  return rounds * kProbeTiles * kJoinedRows * kPanelRows * kActBlock;
}

template <DType... T>
void set_tile_products(KernelTable& table) {
  ((table.matmul[type_index(T)] = &matmul_amx<T>), ...);
}

/// The table of the level without tiles, with products on them. Sub-blocks of 16 weights are two products of 16
/// columns, each with a scale step of its own; those that have minimums besides gain nothing.
KernelTable table_with_tiles(const KernelTable& without) {
  KernelTable table = without;
  set_tile_products<DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ3_K, DType::kQ4_K,
                    DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4>(table);
  table.joined_rows = table.row_step = kJoinedRows;
  table.quantize_row = &quantize_row_joined;
  table.quantize_column = &quantize_column_joined;
  table.probe_int8 = &probe_tiles;
  return table;
}

}  // namespace
}  // namespace octavo
