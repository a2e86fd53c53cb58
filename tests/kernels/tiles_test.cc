// Matrix tiles: the emulation against what a processor did, and products on tiles against those of the level without.
#include <gmock/gmock.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "base/tile_support.h"
#include "emulated_isa/tile_machine.h"
#include "emulated_isa/tile_product.h"
#include "kernels/matrix_maker.h"
#include "support/source_dir.h"

namespace octavo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)

using Bytes = std::vector<std::uint8_t>;
using ProductFn = void (*)(const TileProductCase&, std::int32_t*);

/// The products that run here: the emulation, and the processor's own where it has some.
std::vector<ProductFn> products() {
  std::vector<ProductFn> found = {&octavo_tile_product_emulated};
  if (tile_support() == TileSupport::kUsable) found.push_back(&octavo_tile_product);
  return found;
}

/// A product (TDPBSSD) that an Emerald Rapids did.
struct Vector {
  int rows, bytes;  // of A
  Bytes a, b;
  std::vector<std::int32_t> before, after;
};

std::vector<Vector> vectors() {
  std::ifstream file(test::source_dir() + "/tests/data/amx_tiles.bin", std::ios::binary);
  const Bytes all((std::istreambuf_iterator<char>(file)), {});
  std::size_t at = 0;
  const auto take = [&](int count) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
    at += to_size(count);
    return Bytes(from, from + count);
  };
  const auto take_words = [&](int count) {
    const Bytes bytes = take(4 * count);
    std::vector<std::int32_t> words(to_size(count));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  };
  std::vector<Vector> found;
  while (at < all.size()) {
    const Bytes head = take(4);
    Vector v{head[1], head[2], {}, {}, {}, {}};
    v.a = take(v.rows * v.bytes);
    v.b = take(v.bytes * 16);
    v.before = take_words(v.rows * 16);
    v.after = take_words(v.rows * 16);
    found.push_back(std::move(v));
  }
  return found;
}

TEST(Tiles, ProductsHaveTheBitsOfAProcessors) {
  const std::vector<Vector> all = vectors();
  ASSERT_EQ(all.size(), 64U);
  for (const Vector& v : all)
    for (const ProductFn product : products()) {
      std::vector<std::int32_t> sums = v.before;
      product({v.rows, v.bytes, 16, v.a.data(), v.b.data()}, sums.data());
      EXPECT_EQ(sums, v.after);
    }
  EXPECT_THAT(TileMachine::of_thread().take_errors(), IsEmpty());
}

/// A configuration of four tiles: two of sums, then A of 32 columns and B.
std::array<std::uint8_t, 64> configuration() {
  std::array<std::uint8_t, 64> config = {1};
  for (const int tile : {0, 1, 2, 3}) {
    config[to_size(16 + 2 * tile)] = tile == 2 ? 32 : 64;
    config[to_size(48 + tile)] = tile == 3 ? 8 : 16;
  }
  return config;
}

TEST(TileMachine, EachUseThatAProcessorEndsWithASignalIsAnErrorWithoutEffect) {
  TileMachine machine;
  std::array<std::uint8_t, 1024> memory = {7};
  machine.load(2, memory.data(), 32);
  machine.zero(0);
  EXPECT_THAT(machine.take_errors(), ElementsAre("load of tile 2 while tiles are not configured",
                                                 "zero of tile 0 while tiles are not configured"));
  machine.configure(configuration().data());
  EXPECT_TRUE(machine.configured());
  machine.load(4, memory.data(), 64);  // a tile without a shape
  machine.dot(0, 3, 2);
  machine.dot(0, 2, 2);
  EXPECT_THAT(machine.take_errors(),
              ElementsAre("load of tile 4, which has no shape", HasSubstr("do not fit"), HasSubstr("do not fit")));
  machine.load(2, memory.data(), 32);
  machine.dot(0, 2, 3);
  EXPECT_THAT(machine.take_errors(), IsEmpty());
  EXPECT_EQ(machine.products(), 1);
  machine.release();
  EXPECT_FALSE(machine.configured());
  std::array<std::uint8_t, 1024> untouched = memory;
  machine.store(0, untouched.data(), 64);
  machine.dot(0, 2, 3);
  EXPECT_EQ(untouched, memory);
  EXPECT_EQ(machine.products(), 1);
  EXPECT_EQ(machine.take_errors().size(), 4U);
}

TEST(TileMachine, AConfigurationThatAProcessorRefusesIsAnError) {
  for (const auto& [place, value] : {std::pair{0, 2}, {5, 1}, {16, 65}, {48, 17}, {48, 0}, {57, 1}}) {
    TileMachine machine;
    auto config = configuration();
    config[to_size(place)] = static_cast<std::uint8_t>(value);
    machine.configure(config.data());
    EXPECT_FALSE(machine.configured());
    EXPECT_EQ(machine.take_errors().size(), 1U) << place;
  }
}

/// The amx level beside avx512vnni, whose bits it has.
class TileProducts : public testing::Test {
 protected:
  void SetUp() override {
    if (amx_ == nullptr || plain_ == nullptr) GTEST_SKIP() << "amx: not run, the processor can not even emulate it";
  }
  void TearDown() override { EXPECT_THAT(TileMachine::of_thread().take_errors(), IsEmpty()); }

  static std::vector<float> product(const KernelTable& kernels, const Matrix& m, const Rows& x) {
    const std::int64_t n = m.tensor.rows;
    std::vector<float> y(to_size(x.num_rows * n), std::numeric_limits<float>::quiet_NaN());
    kernels.matmul[dtype_index(m.tensor.type)](m.packed, x.view(), 0, num_panels(n), 0, x.num_rows, y.data(), n);
    return y;
  }
  void expect_same_bits(const Matrix& m, const std::vector<float>& values) {
    const Rows x = quantized(*amx_, values, m.tensor.cols);
    const std::vector<float> on_tiles = product(*amx_, m, x), without = product(*plain_, m, x);
    EXPECT_EQ(std::memcmp(on_tiles.data(), without.data(), without.size() * sizeof(float)), 0)
        << dtype_info(m.tensor.type).name << ", " << x.num_rows << " rows of " << m.tensor.cols;
    EXPECT_FALSE(TileMachine::of_thread().configured());
  }
  std::vector<float> normal(std::int64_t count) {
    std::normal_distribution<float> distribution;
    std::vector<float> values(to_size(count));
    for (float& value : values) value = distribution(random_);
    return values;
  }

  const KernelTable* amx_ = kernels_of_level(IsaLevel::kAmx);
  const KernelTable* plain_ = kernels_of_level(IsaLevel::kAvx512Vnni);
  std::mt19937 random_{54321};
  MatrixMaker maker_{random_};
};

constexpr DType kOnTiles[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,   DType::kQ8_0,   DType::kQ3_K,
                              DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};

TEST_F(TileProducts, AllButTheProductsOfSomeTypesAreTheFunctionsOfTheLevelWithoutTiles) {
  const std::set<DType> on_tiles(std::begin(kOnTiles), std::end(kOnTiles));
  for (const DType type : kAllDTypes)
    EXPECT_EQ(amx_->matmul[dtype_index(type)] != plain_->matmul[dtype_index(type)], on_tiles.contains(type))
        << dtype_info(type).name;
  KernelTable others = *amx_;
  std::ranges::copy(plain_->matmul, others.matmul);
  others.quantize_row = plain_->quantize_row;
  others.quantize_column = plain_->quantize_column;
  others.joined_rows = 0;
  others.row_step = plain_->row_step;
  others.probe_int8 = plain_->probe_int8;
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(&others, 1)), std::as_bytes(std::span(plain_, 1))));
}

TEST_F(TileProducts, QuantizersWriteTheBytesOfWholeSixteensOfRowsSideBySide) {
  const std::int64_t cols = 96, num_rows = 43;
  const Rows by_rows = quantized(*amx_, normal(num_rows * cols), cols);
  Rows by_columns = by_rows;
  std::ranges::fill(by_columns.joined, std::int8_t{0});
  for (std::int64_t block = 0; block < cols / kActBlock; ++block)
    for (std::int64_t row = 0; row < num_rows;) {
      ActPlace place = act_place(by_columns.tiles.data(), cols, row, num_rows, amx_->tile_rows);
      const int count = place.rows;
      place.tile += static_cast<std::size_t>(block * count) * sizeof(ActTile<1>);
      std::int8_t* joined = by_columns.joined.data() + block * kJoinedRows * kActBlock;
      place.joined = joined_place(joined, cols, row, num_rows);
      amx_->quantize_column(by_rows.x.data() + row * cols + block * kActBlock, cols, count, place);
      row += count;
    }
  for (std::int64_t row = 0; row < 32; ++row)
    for (std::int64_t k = 0; k < cols; ++k) {
      const std::int64_t at = row / 16 * 16 * cols + k / 32 * 16 * 32 + row % 16 * 32 + k % 32;
      ASSERT_EQ(by_rows.joined[to_size(at)], by_rows.q(row, k)) << row << ", " << k;
    }
  EXPECT_EQ(by_columns.joined, by_rows.joined);
}

TEST_F(TileProducts, HaveTheSameBitsForAnyNumberOfRows) {
  std::vector<std::int64_t> counts = {31, 32, 33, 127, 128, 129, 512};
  for (std::int64_t rows = 1; rows <= 17; ++rows) counts.push_back(rows);
  for (const DType type : kOnTiles) {
    const std::int64_t cols = packed_block(type).block == 256 ? 1280 : 1088;  // two runs of different length
    const Matrix m = maker_.make(type, 53, cols);                             // a panel in part
    for (const std::int64_t rows : counts) expect_same_bits(m, normal(rows * cols));
  }
}

TEST_F(TileProducts, HaveTheSameBitsForAnyNumberOfColumns) {
  for (const DType type : kOnTiles)
    for (const std::int64_t blocks : {1, 2, 3, 4, 5, 31, 32, 33, 63, 65, 384}) {
      const std::int64_t cols = blocks * packed_block(type).block;
      if (cols > 12288) continue;
      const Matrix m = maker_.make(type, 21, cols);
      for (const std::int64_t rows : {16, 35, 83}) expect_same_bits(m, normal(rows * cols));
    }
}

TEST_F(TileProducts, WaitForTheirNextRunInMoreThanOneGroupOfPanels) {
  const std::int64_t cols = 2304, outputs = 33 * 16, rows = 67;
  for (const DType type : kOnTiles) expect_same_bits(maker_.make(type, outputs, cols), normal(rows * cols));
}

TEST_F(TileProducts, DoNotSaturate) {
  const std::int64_t cols = 512, rows = 32;
  std::vector<float> x(rows * cols);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i / cols % 2 == 0 || i % 2 == 0 ? 1.0F : -1.0F;
  for (const DType type : kOnTiles)
    for (const Fill fill : {Fill::kZeros, Fill::kOnes}) expect_same_bits(maker_.make(type, 16, cols, fill), x);
}

TEST_F(TileProducts, ArePartsOfAPanelsAndRowsProductToo) {
  const std::int64_t cols = 1280, outputs = 53, rows = 75;
  for (const DType type : kOnTiles) {
    const Matrix m = maker_.make(type, outputs, cols);
    const Rows x = quantized(*amx_, normal(rows * cols), cols);
    const std::vector<float> whole = product(*plain_, m, x);
    std::vector<float> parts(whole.size());
    for (const auto& [panel, panel_end] : {std::pair{0, 1}, {1, 1}, {1, 4}})
      for (const auto& [row, row_end] : {std::pair{0, 24}, {24, 24}, {24, 72}, {72, 75}})
        amx_->matmul[dtype_index(type)](m.packed, x.view(), panel, panel_end, row, row_end, parts.data(), outputs);
    EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0) << dtype_info(type).name;
  }
}

/// A product of 64 rows, which takes some hundred microseconds on tiles, and its bits without.
struct LongProduct {
  Matrix m;
  Rows x;
  std::vector<float> expected;

  bool has_its_bits(const std::vector<float>& y) const {
    return std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0;
  }
};

class TilesInAProcess : public TileProducts {
 protected:
  LongProduct long_product() {
    const std::int64_t cols = 1024;
    LongProduct p{maker_.make(DType::kQ4_0, 256, cols), quantized(*amx_, normal(64 * cols), cols), {}};
    p.expected = product(*plain_, p.m, p.x);
    return p;
  }
};

volatile std::sig_atomic_t signals = 0;
std::array<float, 1024> of_handler;

TEST_F(TilesInAProcess, OutliveSignalHandlersThatUseVectors) {
  const LongProduct p = long_product();
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    for (float& value : of_handler) value = value * 1.5F + 1.0F;
    signals = signals + 1;
  };
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often = {{0, 50}, {0, 50}}, never = {};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  int wrong = 0;
  for (int i = 0; i < 100000 && signals < 200; ++i) wrong += p.has_its_bits(product(*amx_, p.m, p.x)) ? 0 : 1;
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_GE(signals, 200);
  EXPECT_EQ(wrong, 0);
}

TEST_F(TilesInAProcess, AreAForkedProcessesToo) {
  const LongProduct p = long_product();
  EXPECT_TRUE(p.has_its_bits(product(*amx_, p.m, p.x)));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(p.has_its_bits(product(*amx_, p.m, p.x)) ? 0 : 1);
  ASSERT_GT(child, 0);
  EXPECT_TRUE(p.has_its_bits(product(*amx_, p.m, p.x)));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(TilesInAProcess, OfEachThreadAreItsOwn) {
  const LongProduct p = long_product(), q = long_product();
  std::array<int, 4> wrong = {};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        const LongProduct& own = t % 2 == 0 ? p : q;
        for (int i = 0; i < 20; ++i) wrong[t] += own.has_its_bits(product(*amx_, own.m, own.x)) ? 0 : 1;
      });
  }
  EXPECT_THAT(wrong, testing::Each(0));
}

#ifdef OCTAVO_EMULATES_AMX

/// The tile products of a call with 48 outputs.
std::int64_t count_products(const KernelTable& amx, const Matrix& m, std::int64_t rows) {
  const Rows x = quantized(amx, std::vector<float>(to_size(rows * m.tensor.cols), 1.0F), m.tensor.cols);
  std::vector<float> y(to_size(rows * m.tensor.rows));
  const std::int64_t before = TileMachine::of_thread().products();
  amx.matmul[dtype_index(m.tensor.type)](m.packed, x.view(), 0, num_panels(m.tensor.rows), 0, rows, y.data(),
                                         m.tensor.rows);
  return TileMachine::of_thread().products() - before;
}

// A panel by 16 rows by a block of 32 columns takes one. Three more in each call are ahead of its end.
TEST_F(TileProducts, AreOneForSixteenRowsOfAPanelAndABlock) {
  struct Count {
    std::int64_t cols, rows, products;
  };
  constexpr std::int64_t kPanels = 3;
  constexpr Count kCounts[] = {{1024, 1, 0},
                               {1024, 15, 0},
                               {1024, 16, kPanels * 32 + 3},
                               {1024, 31, kPanels * 32 + 3},
                               {1024, 32, kPanels * 2 * 32 + 3},
                               {1024, 47, kPanels * 2 * 32 + 3},
                               {1024, 64, kPanels * 4 * 32 + 3},
                               {1024, 129, kPanels * 8 * 32 + 3},
                               {1024, 512, kPanels * 32 * 32 + 3},
                               {1024, 528, kPanels * 33 * 32 + 6},  // sums of 512 rows can wait for their next run
                               {2048, 16, kPanels * 64 + 3},        // two runs
                               {64, 16, 0},                         // too short for products ahead
                               {1056, 16, 0}};                      // an odd number of blocks
  for (const DType type : kOnTiles) {
    const int parts = type == DType::kQ3_K || type == DType::kQ6_K ? 2 : 1;  // sub-blocks of 16 weights
    for (const Count& count : kCounts)
      if (count.cols % packed_block(type).block == 0)
        EXPECT_EQ(count_products(*amx_, maker_.make(type, kPanels * 16, count.cols), count.rows),
                  parts * count.products)
            << dtype_info(type).name << ", " << count.rows << " rows of " << count.cols;
  }
  EXPECT_EQ(count_products(*amx_, maker_.make(DType::kQ2_K, 48, 256), 64), 0);  // minimums of 16 weights
}

#endif

TEST_F(TileProducts, TheProbeDoesTheMultiplyAddsThatItCounts) {
  std::array<std::int8_t, 16> operands;
  operands.fill(1);
  std::int32_t equal = -1, different = 0;
  EXPECT_EQ(amx_->probe_int8(3, operands.data(), &equal), 3 * 4 * 16 * 16 * 32);
  EXPECT_EQ(equal, 0);  // an even number of equal sums
  operands[0] = 2;
  amx_->probe_int8(3, operands.data(), &different);
  EXPECT_NE(different, 0);
}

#endif

}  // namespace
}  // namespace octavo
