// The speed of packing: a matrix of each type from memory to memory, by one thread and by all, beside a plain copy of
// the same bytes in the same run.
//
//     bench_pack [--types Q4_K,Q8_0] [--cols N] [--mib N] [--threads N] [--rounds N]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <random>

#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/pack.h"

namespace octavo::bench {
namespace {

struct Options {
  std::vector<std::string> types;  // none: all
  std::int64_t cols = 4096;
  std::size_t mib = 256;  // of each matrix: far beyond the caches
  int threads = 0, rounds = 5;
};

double seconds(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The best of the rounds, in GB/s of `bytes`.
double rate(int rounds, std::size_t bytes, const auto& work) {
  double best = seconds(work);
  for (int i = 1; i < rounds; ++i) best = std::min(best, seconds(work));
  return static_cast<double>(bytes) / best / 1e9;
}

void run_type(const DTypeInfo& info, const Options& options, ThreadPool& one, ThreadPool& all) {
  const std::int64_t cols = options.cols / info.block_elements * info.block_elements;
  const std::size_t panel = *dtype_bytes(info.type, static_cast<std::uint64_t>(kPanelRows * cols));
  const std::size_t panels = (options.mib << 20) / panel;
  auto source = AlignedBuffer<std::byte>::with_huge_pages(panels * panel);
  auto packed = AlignedBuffer<std::uint8_t>::with_huge_pages(panels * panel_bytes(info.type, cols));
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i + 8 <= source.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(source.data() + i, &word, 8);
  }
  const Tensor tensor{info.type, static_cast<std::int64_t>(panels) * kPanelRows, cols, source.span()};
  const std::size_t stride = panel_bytes(info.type, cols);
  const auto pack = [&](ThreadPool& pool) {
    pool.for_ranges(panels, 8, [&](std::size_t begin, std::size_t end, int) {
      pack_panels(tensor, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end),
                  packed.data() + begin * stride);
    });
  };
  const auto copy = [&](ThreadPool& pool) {
    pool.for_ranges(panels, 8, [&](std::size_t begin, std::size_t end, int) {
      std::memcpy(packed.data() + begin * stride, source.data() + begin * panel, (end - begin) * panel);
    });
  };
  pack(all);  // touches every page
  const int rounds = options.rounds;
  const double pack_one = rate(rounds, source.size(), [&] { pack(one); });
  const double copy_one = rate(rounds, source.size(), [&] { copy(one); });
  const double pack_all = rate(rounds, source.size(), [&] { pack(all); });
  const double copy_all = rate(rounds, source.size(), [&] { copy(all); });
  std::cout << fmt::format("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", info.name, pack_one, copy_one, pack_all,
                           copy_all)
            << std::flush;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Times the packing of weights");
  app.add_option("--types", options.types)->delimiter(',');
  app.add_option("--cols", options.cols)->check(CLI::Range(256, 1 << 20));
  app.add_option("--mib", options.mib)->check(CLI::Range(1, 1 << 16));
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 1024));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  ThreadPool one(1), all(options.threads == 0 ? default_threads() : options.threads);
  std::cout << fmt::format("GB/s of the file's bytes; {} columns, {} MiB\n\n", options.cols, options.mib)
            << fmt::format(
                   "| type | packed, 1 thread | copied, 1 thread | packed, {0} threads | copied, {0} threads |\n",
                   all.num_threads())
            << "|---|---|---|---|---|\n";
  for (const DType type : kAllDTypes) {
    const DTypeInfo& info = dtype_info(type);
    if (options.types.empty() || std::ranges::find(options.types, info.name) != options.types.end())
      run_type(info, options, one, all);
  }
  return 0;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) { return octavo::bench::run(argc, argv); }
