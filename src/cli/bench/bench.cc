// octavo bench: how fast this machine reads prompts and writes answers with a model, and how near that is to its
// limits.
#include <spdlog/logger.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <ostream>

#include "base/cpu_info.h"
#include "base/to_size.h"
#include "cli/bench/bench_drafts.h"
#include "cli/bench/bench_options.h"
#include "cli/bench/bench_pictures.h"
#include "cli/bench/bench_plot.h"
#include "cli/bench/bench_report.h"
#include "cli/bench/bench_runs.h"
#include "cli/commands.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "cli/terminal/progress.h"
#include "model/model_state.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

constexpr int kWarmUpTokens = 8, kWarmUpPrompt = 512;

/// The rows in order: prefill, then decode; by depth, then by size.
std::vector<BenchCase> ordinary_cases(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  for (const int depth : options.depths)
    for (const int prompt : options.prompts)
      if (prompt > 0) cases.push_back({.is_prefill = true, .prompt = prompt, .depth = depth});
  for (const int depth : options.depths)
    for (const int gen : options.gens)
      for (const int batch : options.batches)
        if (gen > 0) cases.push_back({.is_prefill = false, .gen = gen, .batch = batch, .depth = depth});
  return cases;
}

std::vector<BenchCase> shared_cases(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  if (options.shared_prefix == 0) return cases;
  for (const int prompt : options.prompts)
    for (const int batch : options.batches)
      if (prompt > 0)
        cases.push_back({.is_prefill = true, .prompt = prompt, .batch = batch, .shared = options.shared_prefix});
  for (const int gen : options.gens)
    for (const int batch : options.batches)
      if (gen > 0) cases.push_back({.is_prefill = false, .gen = gen, .batch = batch, .shared = options.shared_prefix});
  return cases;
}

/// Sets the context, the number of sequences and the KV memory to what the largest case takes, where the options leave
/// them open. Errors: the model's context or the machine's memory is too small.
Result<void> make_room(std::span<const BenchCase> cases, EngineOptions& options) {
  OCTAVO_TRY(const auto source, open_model(options.model_path));
  OCTAVO_TRY(const ModelConfig config, ModelConfig::load(*source));
  const std::string path = options.model_path.string();
  int longest = 0;
  std::uint64_t kv_bytes = 0;
  for (const BenchCase& c : cases) {
    const int tokens = longest_sequence(c, options.max_step_tokens);
    longest = std::max(longest, tokens);
    options.max_sequences = std::max(options.max_sequences, c.batch);
    // A window is held together with the rows of a step.
    const KvNeed need = kv_need(config, options.kv_type, options.block_size, tokens + options.max_step_tokens);
    // Recurrent states get at most half of the KV memory (make_snapshot_room()).
    const std::uint64_t of_sequence = std::max(need.bytes, 2 * need.recurrent_bytes);
    kv_bytes = std::max(kv_bytes, static_cast<std::uint64_t>(c.batch) * of_sequence);
  }
  const int context = options.max_context != 0 ? options.max_context : config.context_length;
  if (longest > context)
    return fail("{}: found a context of {} tokens, expected {} for these depths and lengths", path, context, longest);
  if (options.max_context == 0) options.max_context = longest;
  if (options.kv_memory_bytes != 0 || options.kv_layout == KvLayout::kContiguous) return {};
  const std::uint64_t free_bytes = available_memory_bytes();
  if (kv_bytes + source->files().bytes > free_bytes)
    return fail("{}: found {} of free memory, expected {} for the weights and {} for the KV cache of the largest test",
                path, format_bytes(free_bytes), format_bytes(source->files().bytes), format_bytes(kv_bytes));
  options.kv_memory_bytes = kv_bytes;
  return {};
}

/// A short form of a case that leaves caches, clocks and page tables as the case will find them. What a decode writes
/// token by token is written by prompts of about that length, into the same memory: no run waits for the system to
/// clear new pages of the KV cache.
BenchCase warm_up(const BenchCase& c, int max_step_tokens) {
  BenchCase warm = c;
  warm.prompt = std::min(c.prompt, kWarmUpPrompt);
  warm.gen = std::min(c.gen, kWarmUpTokens);
  warm.depth = c.is_prefill ? 0 : std::min(c.gen, kWarmUpPrompt);
  while (warm.depth > 0 && longest_sequence(warm, max_step_tokens) > longest_sequence(c, max_step_tokens)) --warm.depth;
  return warm;
}

/// Measures `cases` in rounds, so that a machine that becomes slower slows all of them, and adds them to the report.
/// False: Ctrl-C.
Result<bool> measure(std::span<const BenchCase> cases, const BenchOptions& options, bool prefix_cache,
                     const InterruptGuard& guard, Context& context, BenchReport& report) {
  if (cases.empty()) return true;
  EngineOptions engine_options = options.engine;
  engine_options.prefix_cache = prefix_cache;
  OCTAVO_TRY(engine_options.model_path, resolve_model(options.model, context));
  OCTAVO_TRY_VOID(make_room(cases, engine_options));
  const int max_step_tokens = engine_options.max_step_tokens;
  report.model_file = engine_options.model_path.filename().string();
  const auto start = std::chrono::steady_clock::now();
  const std::string model = engine_options.model_path.string();
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), model, context));
  report.load_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.model = engine->info();
  OCTAVO_TRY(BenchRunner runner, BenchRunner::create(*engine, max_step_tokens, guard));
  const std::size_t first_row = report.rows.size(), rounds = to_size(options.repeat);
  for (const BenchCase& c : cases) report.rows.push_back({.c = c});
  ProgressBar bar(context.err, "measuring");
  for (std::size_t done = 0; done < cases.size() * (rounds + 1); ++done) {
    bar.update(done, cases.size() * (rounds + 1));
    const bool is_warm_up = done < cases.size();
    const BenchCase& c = cases[done % cases.size()];
    OCTAVO_TRY(const std::optional<BenchRun> run, runner.run(is_warm_up ? warm_up(c, max_step_tokens) : c));
    if (!run) return false;
    if (!is_warm_up) report.rows[first_row + done % cases.size()].runs.push_back(*run);
  }
  return true;
}

Result<void> write_plot(const std::string& path, const BenchReport& report) {
  std::ofstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot open: {}", path, std::strerror(errno));
  file << to_svg(report);
  file.close();
  if (!file) return fail("{}: cannot write", path);
  return {};
}

/// Measures answers one by one, each text with and without drafts.
Result<int> bench_drafts(const BenchOptions& options, Context& context) {
  const InterruptGuard guard;
  EngineOptions engine_options = options.engine;
  engine_options.max_sequences = 1;
  engine_options.require_words = true;
  OCTAVO_TRY(const std::filesystem::path model, resolve_model(options.model, context));
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), model.string(), context));
  const int max_tokens = std::ranges::max(options.gens);
  OCTAVO_TRY(const std::vector<DraftRow> rows, measure_drafts(*engine, max_tokens, options.repeat, guard));
  if (guard.interrupted()) return kInterrupted;
  context.out << draft_table(rows, options.format);
  return finish_output(context);
}

Result<int> bench_pictures(const BenchOptions& options, Context& context) {
  const InterruptGuard guard;
  EngineOptions engine = options.engine;
  OCTAVO_TRY(engine.model_path, resolve_model(options.model, context, {}, model_to_talk_to(engine)));
  if (!options.mmproj.empty()) {
    OCTAVO_TRY(engine.mmproj_path, resolve_encoder(options.mmproj, context));
  }
  PictureReport report{
      .machine = {}, .file = {}, .name = {}, .family = {}, .bits = std::string(bits_name(engine.bits))};
  OCTAVO_TRY(report.machine, context.measure_machine(engine.num_threads, engine.isa));
  OCTAVO_TRY(const bool done, measure_pictures(options, engine, guard, context, report));
  if (!done) return kInterrupted;
  context.out << to_text(report, options.format);
  return finish_output(context);
}

Result<int> bench(const BenchOptions& options, Context& context) {
  if (!options.pictures.empty()) return bench_pictures(options, context);
  if (options.engine.draft != DraftMode::kOff) return bench_drafts(options, context);
  const InterruptGuard guard;
  BenchReport report{.machine = {},
                     .model = {},
                     .model_file = {},
                     .kv_type = std::string(kv_type_name(options.engine.kv_type)),
                     .kv_layout = options.engine.kv_layout == KvLayout::kPaged ? "paged" : "contiguous",
                     .bits = std::string(bits_name(options.engine.bits)),
                     .profile = options.profile,
                     .rows = {}};
  OCTAVO_TRY(report.machine, context.measure_machine(options.engine.num_threads, options.engine.isa));
  if (options.engine.device != Device::kCpu) {
    if (const Result<DeviceRates> rates = context.measure_device(); rates) report.device = *rates;
  }
  OCTAVO_TRY(const bool done, measure(ordinary_cases(options), options, false, guard, context, report));
  if (!done) return kInterrupted;
  OCTAVO_TRY(const bool done_shared, measure(shared_cases(options), options, true, guard, context, report));
  if (!done_shared) return kInterrupted;
  if (report.model.device == "cpu") report.device.reset();  // it computes nothing
  context.out << to_text(report, options.format) << std::flush;
  if (options.format != BenchFormat::kMarkdown)  // a table has them below it
    for (const std::string& line : warnings(report)) context.log->warn("{}", line);
  if (!options.plot.empty()) OCTAVO_TRY_VOID(write_plot(options.plot, report));
  return finish_output(context);
}

}  // namespace

void add_bench_command(Program& program, Context& context) {
  auto options = std::make_shared<BenchOptions>();
  Command& command = program.add_command("bench", "Measures how fast a model reads and writes on this machine");
  command.footer(
      "Lists are separated by commas; every combination is a row. The machine's own\n"
      "limits are measured first: reading memory, byte products, float multiply-adds,\n"
      "with the same threads and instruction set. GB/s counts what must be read: the\n"
      "weights once a step, and the keys and values that its rows see. GOPS counts\n"
      "int8 and float operations. \"of memory\" and \"of compute\" are the machine's\n"
      "least time for those over the time taken. Every sequence of every run has its\n"
      "own random tokens, and the prefix cache is off. The depth of a prefill is\n"
      "rounded up to whole steps (--chunk).\n"
      "--draft measures answers with drafts and without in place of all that: texts of\n"
      "code, a quote, JSON, a story, and a script that is right as often as it says;\n"
      "--gen bounds their tokens.\n"
      "--image measures the model's encoder of pictures, or one that is the model's\n"
      "file, with nothing beside it.\n\n"
      "Examples:\n"
      "  octavo bench\n"
      "  octavo bench model.gguf --prompt 128,512 --gen 64 --batch 1,8,32 --plot x.svg\n"
      "  octavo bench --prompt 0 --gen 64 --batch 1 --depth 0,1024,4096 --format json\n"
      "  octavo bench --batch 16 --shared-prefix 2048\n"
      "  octavo bench --draft auto --gen 256\n"
      "  octavo bench qwen3.5-4b-Q4_K_M.gguf --image 640x480,1920x1080");
  add_bench_options(command, *options, context);
  command.on_parsed([options] { return complete_bench_options(*options); });
  command.action([options, &context] { return bench(*options, context); });
}

}  // namespace octavo::cli
