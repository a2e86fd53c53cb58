// Matrix products against the machine's limits. For each weight type and number of rows, the bytes of weights a second
// stand against a plain loop over as many bytes, and the operations a second against the peak of byte products.
//
//     bench_matmul [--types Q4_1,Q8_0] [--rows 1,2,4,8] [--cols 2048] [--outputs 2048] [--threads N] [--isa NAME]
//
// One line a case, Markdown; without --rows the whole curve from 1 to 512, which plot_matmul.py draws. Weights are
// cold: as many matrices are used in turn as exceed the caches.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>

#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "cpu/multiply.h"
#include "cpu/quantized_rows.h"
#include "kernels/dispatch.h"
#include "kernels/machine.h"
#include "kernels/pack.h"
#include "tensor/dtype.h"

namespace octavo::bench {
namespace {

constexpr std::size_t kColdBytes = std::size_t{192} << 20;

struct Options {
  std::vector<std::string> types = {"Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K", "Q1_0", "Q2_0", "TQ2_0", "TQ1_0"};
  std::vector<int> rows = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512};
  int cols = 2048, outputs = 2048, threads = 0, rounds = 3;
  std::string isa = "auto";
};

double seconds(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Matrices of random weights; the scales are ordinary numbers, so that no result overflows.
class Matrices {
 public:
  Matrices(DType type, const Options& options) : bytes_(packed_bytes(type, options.outputs, options.cols)) {
    const std::size_t count = std::max<std::size_t>(1, kColdBytes / bytes_);
    data_ = AlignedBuffer<std::uint8_t>::with_huge_pages(count * bytes_);  // as a model's weights
    std::mt19937 random(1);
    const auto words = data_.size() / 4;
    for (std::size_t i = 0; i < words; ++i) {
      const auto word = static_cast<std::uint32_t>(random());
      std::memcpy(data_.data() + 4 * i, &word, 4);
    }
    if (!is_plain_float(type)) set_scales(type, options.cols);
    for (std::size_t i = 0; i < count; ++i)
      matrices_.push_back(
          {.type = type, .rows = options.outputs, .cols = options.cols, .panels = data_.data() + i * bytes_});
  }

  std::size_t bytes() const { return bytes_; }
  std::span<const WeightMatrix> all() const { return matrices_; }
  const AlignedBuffer<std::uint8_t>& data() const { return data_; }

 private:
  void set_scales(DType type, std::int64_t cols) {
    const PackedBlock block = packed_block(type);
    const std::int64_t blocks = cols / block.block;
    for (std::size_t panel = 0; panel < data_.size(); panel += panel_bytes(type, cols))
      for (std::int64_t b = 0; b < blocks; ++b)
        std::memset(data_.data() + panel + place_of_block(type, blocks, b).scales, 0x24,
                    static_cast<std::size_t>(block.scale_bytes));
  }

  std::size_t bytes_;
  AlignedBuffer<std::uint8_t> data_;
  std::vector<WeightMatrix> matrices_;
};

void run_type(DType type, const Options& options, const KernelTable& kernels, ThreadPool& pool, Machine& machine) {
  const Matrices matrices(type, options);
  constexpr std::size_t kPiece = 8192;
  std::vector<std::int32_t> pieces(matrices.data().size() / kPiece);
  std::iota(pieces.begin(), pieces.end(), 0);
  const int most = *std::ranges::max_element(options.rows);
  AlignedBuffer<float> x(static_cast<std::size_t>(most) * static_cast<std::size_t>(options.cols));
  AlignedBuffer<float> y(static_cast<std::size_t>(most) * static_cast<std::size_t>(options.outputs));
  QuantizedRows quantized(most, options.cols, kernels);
  const RowForms forms = RowForms::of(kernels.activation_form(type));
  PanelScratch scratch;  // the matrices are packed
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (float& v : std::span(x.data(), x.size())) v = normal(random);
  for (const int rows : options.rows) {
    for (int row = 0; row < rows; ++row)
      quantized.out(forms, 0, options.cols)
          .write_row(x.data() + std::int64_t{row} * options.cols, row, rows, options.cols);
    double best = 1e9, read = 1e9, peak = 0;
    std::size_t next = 0;
    const double operations = 2.0 * rows * options.cols * options.outputs;
    const auto repeats =
        static_cast<std::size_t>(std::clamp(4e9 / operations, 1.0, 1.0 * static_cast<double>(matrices.all().size())));
    for (int round = 0; round < options.rounds; ++round) {
      peak = std::max(peak, 2 * machine.byte_multiply_adds_per_second());
      best = std::min(best, seconds([&] {
                              const ThreadPool::Step step(pool);
                              for (std::size_t i = 0; i < repeats; ++i) {
                                const Product product{&matrices.all()[next++ % matrices.all().size()], y.data()};
                                multiply({&product, 1}, quantized.view(x.data(), options.cols), rows, kernels, scratch,
                                         pool);
                              }
                            }) / static_cast<double>(repeats));
      read = std::min(read, seconds([&] { machine.read_blocks(matrices.data().data(), kPiece, pieces); }) /
                                static_cast<double>(pieces.size() * kPiece));
    }
    std::cout << fmt::format("| {} | {} | {:.1f} | {:.2f} | {:.0f} | {:.2f} | {:.1f} |\n", dtype_info(type).name, rows,
                             static_cast<double>(matrices.bytes()) / best / 1e9,
                             static_cast<double>(matrices.bytes()) * read / best, operations / best / 1e9,
                             operations / best / peak, best * 1e6)
              << std::flush;
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Times matrix products against what the machine can do");
  app.add_option("--types", options.types)->delimiter(',');
  app.add_option("--rows", options.rows)->delimiter(',');
  app.add_option("--cols", options.cols);
  app.add_option("--outputs", options.outputs);
  app.add_option("--threads", options.threads);
  app.add_option("--rounds", options.rounds);
  app.add_option("--isa", options.isa);
  CLI11_PARSE(app, argc, argv);
  const auto level = parse_isa(options.isa);
  if (!level) {
    std::cerr << level.error().message << "\n";
    return 2;
  }
  std::vector<DType> types;
  for (const std::string& name : options.types) {
    const auto type = std::ranges::find(kAllDTypes, name, [](DType t) { return dtype_info(t).name; });
    if (type == std::end(kAllDTypes)) {
      std::cerr << fmt::format("--types: found {}, expected some of {}\n", name, supported_dtype_names());
      return 2;
    }
    types.push_back(*type);
  }
  ThreadPool pool(options.threads == 0 ? default_threads() : options.threads);
  Machine machine(*level, pool);
  std::cout << fmt::format("{} x {} weights, {} threads, {}\n\n", options.outputs, options.cols, pool.num_threads(),
                           isa_name(*level));
  std::cout
      << "| type | rows | GB/s | of a plain read | GOPS | of the int8 peak | µs |\n|---|---|---|---|---|---|---|\n";
  for (const DType type : types) run_type(type, options, kernel_table(*level), pool, machine);
  return 0;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) { return octavo::bench::run(argc, argv); }
