#include "cli/batch/run_batch.h"

#include <fmt/format.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <ostream>

#include "api/call/text.h"
#include "cli/batch/batch_output.h"
#include "cli/options/options.h"

namespace octavo::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxParallel = 1024;
constexpr std::chrono::milliseconds kBetweenShows{100};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Shows progress on one line of a terminal, which is overwritten.
class ProgressLine {
 public:
  ProgressLine(TerminalStream& out, std::uint64_t total_bytes) : out_(out), total_bytes_(total_bytes) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const BatchProgress& progress) {
    const Clock::time_point now = Clock::now();
    if (!out_.is_terminal() || now - shown_ < kBetweenShows) return;
    shown_ = now;
    out_.steer(TerminalCommand::kEraseLine);
    out_ << batch_progress_text(progress, total_bytes_, seconds_since(begin_)) << std::flush;
  }
  void clear() {
    out_.steer(TerminalCommand::kEraseLine);
    out_.flush();
  }
  double seconds() const { return seconds_since(begin_); }

 private:
  TerminalStream& out_;
  const std::uint64_t total_bytes_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = {};
};

Result<void> open_input(const std::string& path, std::ifstream& file, std::uint64_t& total_bytes) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return fail("{}: is a directory, expected a file", path);
  file.open(path, std::ios::binary);
  if (!file) return fail("{}: cannot open: {}", path, std::strerror(errno));
  const std::uint64_t size = std::filesystem::file_size(path, error);
  total_bytes = error ? 0 : size;  // 0 for a pipe, which has no size
  return {};
}

/// Opens the output, and gives the first line to answer.
Result<std::uint64_t> open_output(const BatchOptions& options, std::ofstream& file) {
  std::uint64_t first = 1;
  std::error_code error;
  if (options.resume) {
    OCTAVO_TRY(const std::uint64_t last, resume_batch_output(options.output));
    first = last + 1;
  } else if (std::filesystem::is_regular_file(options.output, error) &&
             std::filesystem::file_size(options.output, error) > 0) {
    return fail("{}: is there already; --resume goes on where it ends", options.output);
  }
  file.open(options.output, std::ios::binary | std::ios::app);
  if (!file) return fail("{}: cannot write: {}", options.output, std::strerror(errno));
  return first;
}

void report(const BatchProgress& progress, const BatchOptions& options, double seconds, Context& context) {
  std::string text = fmt::format("{} answers in {:.1f} s", progress.answered, seconds);
  if (progress.failed > 0)
    text += fmt::format("; lines that failed: {}, the first is line {}", progress.failed, progress.first_failed);
  if (progress.interrupted) {
    text +=
        options.as_finished ? "; stopped before the end" : fmt::format("; stopped behind line {}", progress.last_line);
    if (!options.output.empty() && !options.as_finished) text += ", --resume goes on from there";
  }
  const bool is_news = progress.failed > 0 || progress.interrupted || context.err.is_terminal();
  if (is_news) context.err << "octavo: " << text << '\n' << std::flush;
}

ServedModel served_model(const Engine& engine, const SamplingParams& sampling, const BatchDefaults& defaults,
                         int parallel, const Context& context) {
  ServedModel model = ServedModel::of(engine.info());
  model.sampling_defaults = sampling;
  model.policy = {.max_choices = std::min(kMaxChoices, parallel),
                  .reasoning_budget = usable_reasoning_budget(engine, defaults.reasoning_budget, context),
                  .closes_objects = defaults.closes_objects};
  return model;
}

}  // namespace

std::string batch_progress_text(const BatchProgress& progress, std::uint64_t total_bytes, double seconds) {
  std::string text = fmt::format("{} answers", progress.done);
  if (seconds <= 0) return text;
  const std::uint64_t to_do = total_bytes - std::min(total_bytes, progress.skipped_bytes);
  const double share =
      to_do == 0 ? 0 : std::min(1.0, static_cast<double>(progress.done_bytes) / static_cast<double>(to_do));
  if (to_do > 0) text += fmt::format(", {:.0f} %", 100 * share);
  text += fmt::format(", {:.1f}/s, {:.0f} tokens/s", static_cast<double>(progress.done) / seconds,
                      static_cast<double>(progress.tokens) / seconds);
  if (share <= 0) return text;
  const auto left = static_cast<std::int64_t>(seconds * (1 - share) / share);
  return text + (left < 3600 ? fmt::format(", {}:{:02} left", left / 60, left % 60)
                             : fmt::format(", {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60));
}

void add_batch_options(Command& command, BatchOptions& options, const std::vector<std::string>& words) {
  command.group("Many requests");
  Option* batch = command.add_option("--batch", options.file,
                                     "Answer each line of a file of JSON requests, as OpenAI's batches have them; -: "
                                     "standard input");
  batch->check(refuse_empty)->type_name("FILE.jsonl");
  for (const char* other : {"--prompt", "--file", "--system", "--raw", "--json", "--choices", "--min-tokens", "--stop"})
    if (const Option* option = command.find_option(other)) batch->excludes(option);
  Option* output = command.add_option("-o,--output", options.output,
                                      "Where the answers go, a line each; a new file; default: standard output");
  output->check(refuse_empty)->type_name("FILE")->needs(batch);
  add_integer(command, "--parallel", options.parallel, 1, kMaxParallel, "Answers in work at once; default 32")
      ->needs(batch);
  Option* as_finished = command.add_flag("--as-finished", options.as_finished,
                                         "Write each answer when it is there, not in the order of the requests");
  as_finished->needs(batch);
  command
      .add_flag("--resume", options.resume, "Go on where --output ends, which an earlier run of the same file wrote")
      ->needs(output)
      ->excludes(as_finished);
  command.on_parsed([&options, &words]() -> Result<void> {
    if (options.file.empty() || words.empty()) return {};
    return fail("found the word '{}' beside --batch, expected no prompt", words.front());
  });
}

Result<int> run_batch(const BatchOptions& options, EngineOptions engine_options, const std::string& model,
                      const SamplingFlags& sampling, const BatchDefaults& defaults, Context& context) {
  std::ifstream in_file;
  std::ofstream out_file;
  std::uint64_t total_bytes = 0;
  const bool reads_file = options.file != "-";
  if (reads_file) OCTAVO_TRY_VOID(open_input(options.file, in_file, total_bytes));
  BatchSettings settings{.defaults = defaults, .parallel = options.parallel, .as_finished = options.as_finished};
  if (!options.output.empty()) {
    OCTAVO_TRY(settings.first_line, open_output(options, out_file));
  }
  engine_options.require_words = true;
  engine_options.max_sequences = options.parallel;
  engine_options.max_queued = 0;  // the batch itself bounds what waits
  engine_options.max_queued_tokens = 0;
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), model, context));
  const ServedModel served =
      served_model(*engine, resolve_sampling(sampling, *engine, context), defaults, options.parallel, context);
  BatchInput input(reads_file ? in_file : context.in, kMaxBatchLineBytes);
  std::ostream& out = options.output.empty() ? static_cast<std::ostream&>(context.out) : out_file;
  BatchRun batch(*engine, served, settings, input, out);
  ProgressLine line(context.err, total_bytes);
  OCTAVO_TRY(const BatchProgress progress, batch.run([&line](const BatchProgress& now) { line.show(now); }));
  line.clear();
  report(progress, options, line.seconds(), context);
  if (progress.interrupted) return kInterrupted;
  return progress.failed > 0 ? kFailed : kDone;
}

}  // namespace octavo::cli
