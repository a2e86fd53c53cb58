// Batched decode attention against what the machine can do: how close it comes to the larger of
//     the time a plain loop takes to read the same blocks in the same order, and
//     its multiply-adds at the machine's peak of fused multiply-adds,
// all three timed in turn in one run, on the same threads.
//
//     bench_attention [--threads N] [--isa NAME] [--rounds N] [--quick] [--warm] [--token-major] [--filter TEXT]
//                     [--head-dims N,...] [--groups N,...] [--latents]
//
// One line a case, Markdown. `loaded` is counted by the plan: K and V bytes that are read from memory, once for all
// readers of a tile.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>
#include <span>

#include "attention/attention_plan.h"
#include "base/aligned_buffer.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/dispatch.h"
#include "kernels/machine.h"
#include "kv/kv_element.h"
#include "kv/state_layout.h"
#include "octavo/kv/types.h"

namespace octavo::bench {
namespace {

constexpr int kBlockSize = 16, kKvHeads = 4;
constexpr int kLatentDims = 576, kLatentValues = 512;  // DeepSeek's
// The layers of a model follow one another, so a layer's keys and values are not in the caches when their turn comes.
// As many layers are timed in turn as make up this many bytes, as far as the arena holds them.
constexpr std::size_t kColdBytes = std::size_t{512} << 20;

struct Case {
  int depth, batch, head_dim, group;
  KvType type;
  bool scattered;
  int shared = 0;  // leading tokens that all sequences share
  int kv_heads = kKvHeads;
  int v_dim = head_dim;
  bool v_in_k = false;

  bool is_latent() const { return v_dim != head_dim; }
  KvLayerShape shape() const { return {.num_kv_heads = kv_heads, .k_dim = head_dim, .v_dim = v_dim, .v_in_k = v_in_k}; }
};

std::string name_of(const Case& c) {
  std::string name = fmt::format("{} · {} · {} · {} · {} · {}", c.depth, c.batch, c.head_dim, c.group,
                                 kv_type_name(c.type), c.scattered ? "scattered" : "in order");
  if (c.shared > 0) name += fmt::format(" · {} shared", c.shared);
  if (c.is_latent()) name += c.v_in_k ? " · values in keys" : " · values beside keys";
  return name;
}

std::vector<Case> cases(bool quick, bool warm, std::span<const int> head_dims, std::span<const int> groups) {
  std::vector<Case> all;
  const std::vector<int> depths = quick ? std::vector{300} : warm ? std::vector{512} : std::vector{512, 4096, 32768};
  for (const int depth : depths)
    for (const int batch : {1, 16})
      for (const bool scattered : {false, true})
        for (const KvType type : {KvType::kI16, KvType::kF16, KvType::kQ8_0})
          for (const int head_dim : head_dims)
            for (const int group : groups) all.push_back({depth, batch, head_dim, group, type, scattered});
  for (const KvType type : {KvType::kI16, KvType::kF16, KvType::kQ8_0})
    for (const int head_dim : head_dims)
      for (const int group : groups)
        all.push_back({quick ? 700 : 4096 + 512, 16, head_dim, group, type, false, quick ? 512 : 4096});
  return all;
}

/// Latents of one KV head, which all query heads read, as keys whose first dimensions are the values: with memory of
/// their own, and without.
std::vector<Case> latent_cases(bool quick, bool warm) {
  std::vector<Case> all;
  const std::vector<int> depths = quick ? std::vector{300} : warm ? std::vector{512} : std::vector{512, 4096, 32768};
  for (const int depth : depths)
    for (const int batch : {1, 16})
      for (const KvType type : {KvType::kI16, KvType::kF16, KvType::kQ8_0})
        for (const int group : {16, 128})
          for (const bool v_in_k : {false, true})
            all.push_back({.depth = depth,
                           .batch = batch,
                           .head_dim = kLatentDims,
                           .group = group,
                           .type = type,
                           .scattered = false,
                           .kv_heads = 1,
                           .v_dim = kLatentValues,
                           .v_in_k = v_in_k});
  return all;
}

/// The arena of one layer, block tables and queries of a case.
class Setup {
 public:
  Setup(const Case& c, KOrder k_order, WriteKvFn write_kv, AlignedBuffer<std::uint8_t>& arena, bool warm) : c_(c) {
    const StateLayout layout =
        StateLayout::create(c.type, KvLayout::kPaged, kBlockSize, std::array{std::optional(c.shape())}).value();
    kv_ = {.data = arena.data(),
           .block_bytes = layout.layer_block_bytes(0),
           .head_bytes = layout.head_bytes(0),
           .v_offset = static_cast<std::ptrdiff_t>(layout.v_offset(0)),
           .token_bytes = layout.bytes_per_token() / static_cast<std::size_t>(c.kv_heads),
           .k_order = k_order,
           .block_size = kBlockSize,
           .num_kv_heads = c.kv_heads,
           .k_dim = c.head_dim,
           .v_dim = c.v_dim,
           .token_stride = c.v_in_k ? 0 : c.v_dim,
           .v_in_k = c.v_in_k};
    const int blocks = (c.depth + kBlockSize - 1) / kBlockSize, shared = c.shared / kBlockSize;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shared + c.batch * (blocks - shared)));
    std::iota(ids.begin(), ids.end(), 0);
    if (c.scattered) std::shuffle(ids.begin(), ids.end(), std::mt19937(7));
    const std::size_t layer_bytes = ids.size() * kv_.block_bytes;
    OCTAVO_CHECK(layer_bytes <= arena.size(), "{} blocks", ids.size());
    const std::size_t num_layers = std::max<std::size_t>(1, std::min(arena.size(), kColdBytes) / layer_bytes);
    for (std::size_t i = 0; i < num_layers; ++i) {
      layers_.push_back(kv_);
      if (!warm) layers_.back().data += i * layer_bytes;
    }
    fill(write_kv, (warm ? 1 : num_layers) * ids.size());
    const std::size_t heads = static_cast<std::size_t>(c.kv_heads * c.group), batch = static_cast<std::size_t>(c.batch);
    const std::size_t q_row = heads * static_cast<std::size_t>(c.head_dim);
    const std::size_t out_row = heads * static_cast<std::size_t>(c.v_dim);
    q_.resize(q_row * batch);
    out_.resize(out_row * batch);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0F, 0.1F);
    for (float& x : q_) x = normal(random);
    for (int s = 0; s < c.batch; ++s) {
      std::vector<std::int32_t>& table = tables_.emplace_back(ids.begin(), ids.begin() + shared);
      const auto own = ids.begin() + shared + s * (blocks - shared);
      table.insert(table.end(), own, own + (blocks - shared));
    }
    for (std::size_t s = 0; s < batch; ++s) {
      sequences_.push_back({.blocks = tables_[s],
                            .q = q_.data() + s * q_row,
                            .out = out_.data() + s * out_row,
                            .first_position = c.depth - 1,
                            .num_rows = 1});
    }
    // The blocks that a plain loop reads: every one once, in the order of the tables.
    read_order_.assign(ids.begin(), ids.end());
  }

  std::span<const KvLayer> layers() const { return layers_; }
  std::span<const AttentionSequence> sequences() const { return sequences_; }
  std::span<const std::int32_t> read_order() const { return read_order_; }
  std::uint64_t read_bytes() const { return layers_.size() * read_order_.size() * kv_.block_bytes; }
  double multiply_adds() const {
    const double heads = static_cast<double>(layers_.size()) * c_.batch * c_.kv_heads * c_.group;
    return heads * c_.depth * (c_.head_dim + c_.v_dim);
  }

 private:
  /// Keys and values of a standard normal distribution: some blocks are written, the others are their copies.
  void fill(WriteKvFn write_kv, std::size_t num_blocks) {
    const std::size_t written = std::min<std::size_t>(num_blocks, 64);
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::vector<float> k(static_cast<std::size_t>(c_.kv_heads * c_.head_dim)), v(k.size());
    for (std::size_t block = 0; block < written; ++block)
      for (int token = 0; token < kBlockSize; ++token) {
        for (float& x : k) x = normal(random);
        for (float& x : v) x = normal(random);
        write_kv(kv_, static_cast<std::int32_t>(block), token, k.data(), v.data());
      }
    for (std::size_t block = written; block < num_blocks; ++block)
      std::memcpy(kv_.data + block * kv_.block_bytes, kv_.data + block % written * kv_.block_bytes, kv_.block_bytes);
  }

  Case c_;
  KvLayer kv_{};
  std::vector<KvLayer> layers_;
  std::vector<std::vector<std::int32_t>> tables_;
  std::vector<std::int32_t> read_order_;
  std::vector<float> q_, out_;
  std::vector<AttentionSequence> sequences_;
};

struct Figures {
  double read_rate = 0, peak = 0, seconds = 0;  // bytes/s, multiply-adds/s
};

template <class F>
double time_of(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// The three, one after the other, `rounds` times; medians.
Figures measure(const Setup& setup, AttentionPlan& plan, const KernelTable& kernels, KvType type, Machine& machine,
                ThreadPool& pool, int rounds) {
  const auto t = static_cast<std::size_t>(type);
  std::vector<double> read, peak, attention;
  for (int round = 0; round <= rounds; ++round) {
    const double read_s = time_of([&] {
      for (const KvLayer& kv : setup.layers()) machine.read_blocks(kv.data, kv.block_bytes, setup.read_order());
    });
    const double fma_rate = machine.multiply_adds_per_second();
    const double attention_s = time_of([&] {
      const ThreadPool::Step step(pool);
      for (const KvLayer& kv : setup.layers()) plan.run(kv, kernels.attention[t], kernels.merge_tiles, pool);
    });
    if (round == 0) continue;  // page tables and caches warm up
    read.push_back(static_cast<double>(setup.read_bytes()) / read_s);
    peak.push_back(fma_rate);
    attention.push_back(attention_s);
  }
  return {median(read), median(peak), median(attention)};
}

int run(int argc, char** argv) {
  int threads = 0, rounds = 9;
  std::string isa = "auto", filter;
  bool quick = false, token_major = false, warm = false, latents = false;
  std::vector<int> head_dims{64, 128}, groups{1, 3, 4, 8};
  CLI::App app("Times batched decode attention against a plain read loop and the peak of multiply-adds.");
  app.add_option("--threads", threads, "Threads; default: physical cores")->check(CLI::PositiveNumber);
  app.add_option("--isa", isa, "Instruction set, as for octavo");
  app.add_option("--rounds", rounds, "Rounds of each case; medians are shown")->check(CLI::PositiveNumber);
  app.add_option("--filter", filter, "Only cases whose name contains this");
  app.add_option("--head-dims", head_dims, "Dimensions of a head")->delimiter(',')->check(CLI::Range(1, kMaxHeadDim));
  app.add_option("--groups", groups, "Query heads of a KV head")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_flag("--token-major", token_major,
               "K by token instead of by dimension, as in the contiguous layout; not q8_0");
  app.add_flag("--warm", warm, "One small layer again and again: what computing takes when nothing comes from memory");
  app.add_flag("--latents", latents,
               "One KV head whose values are the first dimensions of its keys: beside, and in them")
      ->excludes("--token-major");
  app.add_flag("--quick", quick, "Small sizes: does it run?");
  CLI11_PARSE(app, argc, argv);
  const Result<IsaLevel> level = parse_isa(isa);
  if (!level) return std::cerr << level.error().message << '\n', 2;
  const KernelTable& kernels = kernel_table(*level);
  ThreadPool pool(threads > 0 ? threads : default_threads());
  Machine machine(*level, pool);
  const int most_dims = latents ? kLatentDims : std::ranges::max(head_dims);
  auto arena = AlignedBuffer<std::uint8_t>::with_huge_pages(
      quick ? std::size_t{64} << 20
            : std::size_t{32768} * 16 * (latents ? 1 : kKvHeads) * 4 *
                  (static_cast<std::size_t>(most_dims) + scales_per_head(KvType::kI16, most_dims)));
  fmt::print("{}, {} threads, {}\n\n", cpu_model_name(), pool.num_threads(), isa_name(*level));
  fmt::print(
      "depth · batch · head_dim · GQA · type · blocks | loaded MB | read GB/s | attention GB/s | G multiply-adds/s, "
      "peak | bound by | time / "
      "bound\n");
  fmt::print("---|---:|---:|---:|---:|---|---:\n");
  for (const Case& c : latents ? latent_cases(quick, warm) : cases(quick, warm, head_dims, groups)) {
    if (name_of(c).find(filter) == std::string::npos) continue;
    if (token_major && scale_dims(c.type) > 0) continue;
    const Setup setup(c, token_major ? KOrder::kTokenMajor : KOrder::kDimMajor,
                      kernels.write_kv[static_cast<std::size_t>(c.type)], arena, warm);
    AttentionPlan plan({.num_heads = c.kv_heads * c.group,
                        .num_kv_heads = c.kv_heads,
                        .k_dim = c.head_dim,
                        .v_dim = c.v_dim,
                        .max_rows = 16},
                       pool.num_threads());
    plan.build(setup.sequences(), {}, kBlockSize);
    const Figures f = measure(setup, plan, kernels, c.type, machine, pool, rounds);
    const std::uint64_t layer_bytes = plan.kv_bytes_loaded(setup.layers()[0]);
    const auto loaded = static_cast<double>(layer_bytes * setup.layers().size());
    const double by_memory = loaded / f.read_rate, by_compute = setup.multiply_adds() / f.peak;
    fmt::print("{} | {:.1f} | {:.1f} | {:.1f} | {:.1f}, {:.1f} | {} | {:.2f}\n", name_of(c),
               static_cast<double>(layer_bytes) / 1e6, f.read_rate / 1e9, loaded / f.seconds / 1e9,
               setup.multiply_adds() / f.seconds / 1e9, f.peak / 1e9,
               by_memory > by_compute ? "memory" : "multiply-adds", f.seconds / std::max(by_memory, by_compute));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) { return octavo::bench::run(argc, argv); }
