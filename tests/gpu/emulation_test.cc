// The emulation of a card: what kernels may rely on works, and what they must not do ends with an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/simt.h"

namespace octavo::simt {
namespace {

using ::testing::HasSubstr;

/// The message of the misuse that ends a launch; empty where it ends well.
std::string misuse_of(const EmulatedLaunch& launch, const std::function<void()>& body) {
  try {
    run_emulated(launch, body);
    return "";
  } catch (const MisuseError& error) {
    return error.what();
  }
}

constexpr std::array<ThreadOrder, 2> kOrders = {ThreadOrder::kAscending, ThreadOrder::kDescending};

TEST(Emulation, RunsEveryThreadOfEveryBlock) {
  std::vector<int> runs(3 * 2 * 64);
  run_emulated({.grid_x = 3, .grid_y = 2, .threads = 64},
               [&] { ++runs[static_cast<std::size_t>((block_y() * grid_x() + block_x()) * 64 + thread())]; });
  EXPECT_THAT(runs, ::testing::Each(1));
}

TEST(Emulation, BarriersOrderWritesAndReadsOfABlock) {
  for (const ThreadOrder order : kOrders) {
    std::vector<int> sums(256);
    run_emulated({.threads = 256, .shared_bytes = 1024, .order = order}, [&] {
      int* const values = reinterpret_cast<int*>(shared());
      for (int round = 0; round < 3; ++round) {
        values[thread()] = thread() * round;
        sync_block();
        sums[static_cast<std::size_t>(thread())] += values[255 - thread()];
        sync_block();
      }
    });
    for (int i = 0; i < 256; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], 3 * (255 - i));
  }
}

TEST(Emulation, ShufflesExchangeWithinAWarp) {
  std::vector<int> got(64);
  std::vector<float> sums(64);
  run_emulated({.threads = 64}, [&] {
    got[static_cast<std::size_t>(thread())] = shuffle_xor(thread(), 5);
    float sum = static_cast<float>(thread());
    for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    sums[static_cast<std::size_t>(thread())] = sum;
  });
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], i ^ 5);
    EXPECT_EQ(sums[static_cast<std::size_t>(i)], i < 32 ? 496 : 1520);
  }
}

/// An mma of random bytes by its definition; the sums and what lanes got.
void expect_mma(bool a_signed, bool b_signed, int columns, const auto& operation) {
  std::mt19937 random(5);
  std::uint8_t a[16][32], b[8][32];
  for (auto& row : a)
    for (std::uint8_t& byte : row) byte = static_cast<std::uint8_t>(random());
  for (auto& row : b)
    for (std::uint8_t& byte : row) byte = static_cast<std::uint8_t>(random());
  int d[16][8];
  run_emulated({}, [&] {
    const int g = lane() / 4, j = lane() % 4;
    const auto word = [](const std::uint8_t* p) {
      std::uint32_t w;
      std::memcpy(&w, p, 4);
      return w;
    };
    const std::uint32_t fa[4] = {word(&a[g][4 * j]), word(&a[g + 8][4 * j]), word(&a[g][16 + 4 * j]),
                                 word(&a[g + 8][16 + 4 * j])};
    int sums[4];
    operation(sums, fa, word(&b[g][4 * j]), word(&b[g][16 + 4 * j]));
    for (int i = 0; i < 4; ++i) d[g + i / 2 * 8][2 * j + i % 2] = sums[i];
  });
  const auto value = [](std::uint8_t byte, bool with_sign) {
    return with_sign ? static_cast<std::int8_t>(byte) : byte;
  };
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = 7;
      for (int k = 0; k < columns; ++k) sum += value(a[row][k], a_signed) * value(b[column][k], b_signed);
      EXPECT_EQ(d[row][column], sum) << row << ' ' << column;
    }
}

TEST(Emulation, MmaSumsProductsOfBytes) {
  const int c[4] = {7, 7, 7, 7};
  expect_mma(false, true, 32, [&](int(&d)[4], const auto& a, auto b0, auto b1) { mma_u8(d, a, b0, b1, c); });
  expect_mma(true, true, 32, [&](int(&d)[4], const auto& a, auto b0, auto b1) { mma_s8(d, a, b0, b1, c); });
  expect_mma(false, false, 32, [&](int(&d)[4], const auto& a, auto b0, auto b1) { mma_u8u8(d, a, b0, b1, c); });
  expect_mma(true, false, 32, [&](int(&d)[4], const auto& a, auto b0, auto b1) { mma_s8u8(d, a, b0, b1, c); });
  expect_mma(false, true, 16, [&](int(&d)[4], const auto& a, auto b0, auto) { mma_u8_k16(d, a[0], a[1], b0, c); });
}

TEST(Emulation, RoundsAsTheCpuDoes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_int(2.5F), 2);
  EXPECT_EQ(to_int(-3.5F), -4);
  EXPECT_EQ(to_int(2147483520.0F), 2147483520);
  EXPECT_EQ(to_int(2147483648.0F), INT32_MIN);
  EXPECT_EQ(to_int(-kInfinity), INT32_MIN);
  EXPECT_EQ(to_int(std::numeric_limits<float>::quiet_NaN()), INT32_MIN);
}

/// Passes values from warp to warp, in turns.
TEST(Emulation, NamedBarriersHandOnFromWarpToWarp) {
  for (const ThreadOrder order : kOrders) {
    std::vector<int> seen(32);
    run_emulated({.threads = 96, .shared_bytes = 128, .order = order}, [&] {
      int* const baton = reinterpret_cast<int*>(shared());
      for (int turn = warp(); turn < 12; turn += 3) {
        if (turn > 0) await(warp() + 1);
        const int before = turn == 0 ? 0 : baton[lane()];
        baton[lane()] = 2 * before + turn;
        if (turn == 11) seen[static_cast<std::size_t>(lane())] = baton[lane()];
        if (turn < 11) pass((warp() + 1) % 3 + 1);
      }
    });
    int expected = 0;
    for (int turn = 0; turn < 12; ++turn) expected = 2 * expected + turn;
    EXPECT_THAT(seen, ::testing::Each(expected));
  }
}

TEST(Emulation, CopiesHappenWhenTheirThreadWaits) {
  alignas(16) const std::array<std::uint32_t, 8> from = {1, 2, 3, 4, 5, 6, 7, 8};
  std::uint32_t without = 0, one = 0, both = 0;
  run_emulated({.shared_bytes = 64}, [&] {
    const auto* const to = reinterpret_cast<const std::uint32_t*>(shared());
    if (thread() != 0) return;
    for (int i = 0; i < 2; ++i) {
      copy16(shared() + 16 * i, from.data() + 4 * i);
      commit();
    }
    without = to[0];
    wait_copies<1>();
    one = to[4];
    EXPECT_EQ(to[0], 1U);
    wait_copies<0>();
    both = to[4];
  });
  EXPECT_EQ(without, 0xCDCDCDCDU);
  EXPECT_EQ(one, 0xCDCDCDCDU);
  EXPECT_EQ(both, 5U);
}

TEST(Emulation, ThreadsThatAllWaitAreAnError) {
  EXPECT_THAT(
      misuse_of({.threads = 64}, [] { await(1 + warp()); }),
      HasSubstr("no thread can go on: 0 wait for the block, 0 for their warp, 32 at barrier 1, 32 at barrier 2"));
  EXPECT_THAT(misuse_of({.threads = 64},
                        [] {
                          if (warp() == 0) sync_block();
                          if (warp() == 1) await(3);
                        }),
              HasSubstr("32 wait for the block, 0 for their warp, 32 at barrier 3, 0 have ended"));
  // What was abandoned leaves nothing behind.
  EXPECT_EQ(misuse_of({.threads = 64}, [] { sync_block(); }), "");
}

TEST(Emulation, ThreadsThatEndWhereOthersWaitAreAnError) {
  EXPECT_THAT(misuse_of({.threads = 64},
                        [] {
                          if (thread() != 7) sync_block();
                        }),
              HasSubstr("63 wait for the block, 0 for their warp, 1 have ended"));
  EXPECT_THAT(misuse_of({.threads = 32},
                        [] {
                          if (thread() != 7) sync_warp();
                        }),
              HasSubstr("0 wait for the block, 31 for their warp, 1 have ended"));
}

TEST(Emulation, CopiesInFlightAtTheEndAreAnError) {
  alignas(16) const std::array<std::uint32_t, 4> from = {1, 2, 3, 4};
  EXPECT_THAT(misuse_of({.shared_bytes = 16},
                        [&] {
                          if (thread() == 3) copy16(shared(), from.data());
                          commit();
                        }),
              HasSubstr("thread 3 of block (0, 0) ends with 1 copies for which it has not waited"));
}

TEST(Emulation, WrongUseOfBarriersIsAnError) {
  EXPECT_THAT(misuse_of({.threads = 96},
                        [] {
                          if (warp() == 0) pass(2), pass(2);
                        }),
              HasSubstr("arrives at barrier 2 again before the others have come"));
  EXPECT_THAT(misuse_of({.threads = 96},
                        [] {
                          if (warp() < 2) pass(2);
                        }),
              HasSubstr("is the last one at barrier 2, where nobody waits"));
  EXPECT_THAT(misuse_of({.threads = 32}, [] { pass(2); }), HasSubstr("32 threads have arrived at barrier 2 in vain"));
  EXPECT_THAT(misuse_of({.threads = 32}, [] { pass(16); }), HasSubstr("arrives at barrier 16; there are 1 to 15"));
}

TEST(Emulation, LanesAtDifferentOperationsAreAnError) {
  EXPECT_THAT(misuse_of({}, [] { thread() == 0 ? sync_warp() : void(shuffle_xor(1, 1)); }),
              HasSubstr("meet at different operations"));
}

TEST(Emulation, WrongUseOfSharedMemoryIsAnError) {
  alignas(16) const std::array<std::uint32_t, 4> from = {1, 2, 3, 4};
  EXPECT_THAT(misuse_of({.shared_bytes = 64}, [] { shared()[64 + thread()] = 1; }),
              HasSubstr("has written byte 64 of its 64 bytes of shared memory"));
  EXPECT_THAT(misuse_of({.shared_bytes = 64}, [&] { copy16(shared() + 64, from.data()); }),
              HasSubstr("copies to byte 64 of 64 bytes"));
  EXPECT_THAT(misuse_of({.shared_bytes = 64}, [&] { copy16(shared() + 4, from.data()); }), HasSubstr("not aligned"));
  EXPECT_THAT(misuse_of({.shared_bytes = 64}, [] { load16(shared() + 8); }), HasSubstr("not aligned"));
  EXPECT_THAT(misuse_of({.shared_bytes = 100 << 10}, [] {}), HasSubstr("102400 bytes of shared memory; it may have"));
}

}  // namespace
}  // namespace octavo::simt
