#include "kernels/machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "kernels/dispatch.h"
#include "octavo/machine.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

// Threads that read within the same pages disturb each other: pieces of 16 KiB were read at half the rate.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kPrefetchBytes = 3072;
constexpr std::size_t kMeasuredBytes = std::size_t{256} << 20;  // larger than the caches of present processors
constexpr std::int64_t kProbeRounds = 1 << 20;
constexpr std::array<std::int8_t, 16> kOperands = {3, 1, 5, 7, 2, 9, 4, 6, 11, 8, 13, 10, 15, 12, 17, 14};
constexpr int kRepeats = 7;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Makes resident memory, in large pages where the system has them: fewer TLB misses make it up to a fifth faster.
AlignedBuffer<std::uint8_t> make_memory(ThreadPool& pool) {
  auto memory = AlignedBuffer<std::uint8_t>::with_huge_pages(kMeasuredBytes);
  pool.for_ranges(memory.size() / kPieceBytes, 1, [&](std::size_t from, std::size_t to, int) {
    std::memset(memory.data() + from * kPieceBytes, 1, (to - from) * kPieceBytes);
  });
  return memory;
}

}  // namespace

Machine::Machine(IsaLevel level, ThreadPool& pool) : kernels_(kernel_table(level)), pool_(pool) {}

void Machine::read_blocks(const std::uint8_t* data, std::size_t block_bytes, std::span<const std::int32_t> ids) {
  std::atomic<std::uint64_t> total{0};
  const ThreadPool::Step step(pool_);
  pool_.for_ranges(ids.size(), 16, [&](std::size_t begin, std::size_t end, int) {
    std::uint64_t seen = 0;
    for (std::size_t i = begin; i < end; ++i)
      seen ^= kernels_.probe_read(data + static_cast<std::size_t>(ids[i]) * block_bytes, block_bytes, 0);
    total.fetch_xor(seen, std::memory_order_relaxed);
  });
  sink_ ^= total.load();
}

double Machine::bytes_per_second(std::span<const std::uint8_t> memory) {
  double best = 0;
  for (const std::size_t ahead : {std::size_t{0}, kPrefetchBytes}) {
    std::atomic<std::uint64_t> total{0};
    const ThreadPool::Step step(pool_);
    const auto start = Clock::now();
    const std::size_t pieces = memory.size() / kPieceBytes;
    pool_.for_ranges(pieces, 1, [&](std::size_t begin, std::size_t end, int) {
      total.fetch_xor(kernels_.probe_read(memory.data() + begin * kPieceBytes, (end - begin) * kPieceBytes, ahead));
    });
    best = std::max(best, static_cast<double>(pieces * kPieceBytes) / seconds_since(start));
    sink_ ^= total.load();
  }
  return best;
}

template <class Probe>
double Machine::rate_of(Probe probe) {
  const auto threads = static_cast<std::size_t>(pool_.num_threads());
  std::atomic<std::int64_t> done{0};
  const ThreadPool::Step step(pool_);
  const auto start = Clock::now();
  pool_.for_ranges(threads, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) done += probe();
  });
  return static_cast<double>(done.load()) / seconds_since(start);
}

double Machine::multiply_adds_per_second() {
  std::atomic<int> finite{0};
  const double rate = rate_of([&] {
    float result = 0;
    const std::int64_t done = kernels_.probe_float(kProbeRounds, kOperands.data(), &result);
    finite += result < 1e9F ? 1 : 0;
    return done;
  });
  sink_ += static_cast<std::uint64_t>(finite.load());
  return rate;
}

double Machine::byte_multiply_adds_per_second() {
  std::atomic<std::int32_t> results{0};
  const double rate = rate_of([&] {
    std::int32_t result = 0;
    const std::int64_t done = kernels_.probe_int8(kProbeRounds, kOperands.data(), &result);
    results ^= result;
    return done;
  });
  sink_ += static_cast<std::uint32_t>(results.load());
  return rate;
}

namespace {

MachineLimits measure(int num_threads, IsaLevel level) {
  ThreadPool pool(num_threads > 0 ? num_threads : default_threads());
  Machine machine(level, pool);
  const AlignedBuffer<std::uint8_t> memory = make_memory(pool);
  std::vector<double> read, bytes, floats;
  for (int i = 0; i <= kRepeats; ++i) {
    const double read_rate = machine.bytes_per_second(memory.span());
    const double byte_rate = machine.byte_multiply_adds_per_second(), float_rate = machine.multiply_adds_per_second();
    if (i == 0) continue;  // the first run warms up clocks and page tables
    read.push_back(read_rate);
    bytes.push_back(byte_rate);
    floats.push_back(float_rate);
  }
  return {.cpu = cpu_model_name(),
          .isa = std::string(isa_name(level)),
          .num_threads = pool.num_threads(),
          .read_bytes_per_s = median(read),
          .int8_ops_per_s = 2 * median(bytes),
          .float_ops_per_s = 2 * median(floats)};
}

}  // namespace

Result<MachineLimits> measure_machine(int num_threads, std::string_view isa) {
  if (num_threads < 0 || num_threads > kMaxThreads)
    return fail("num_threads: found {}, expected 0 to {}", num_threads, kMaxThreads);
  OCTAVO_TRY(const IsaLevel level, parse_isa(isa));
  try {
    return measure(num_threads, level);
  } catch (const std::bad_alloc&) {
    return fail("measuring the machine: found no memory, expected {} bytes", kMeasuredBytes);
  } catch (const std::system_error& error) {  // thrown where the system refuses another thread
    return fail("measuring the machine: starting threads: {}", error.what());
  }
}

}  // namespace octavo
