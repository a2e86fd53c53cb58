#include "cli/text_rows.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "api/call/call_run.h"
#include "api/call/vector_call.h"
#include "cli/generate.h"
#include "cli/options/options.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int kMaxNorm = 16;

/// A text that is in the engine, or was.
struct Text {
  std::shared_ptr<TextRows> rows;
  FinishReason finish = FinishReason::kNone;
  RequestStats stats = {};
};

class Run {
 public:
  Run(Engine& engine, const TextRowsRun& wanted, Context& context)
      : engine_(engine),
        wanted_(wanted),
        bar_(context.err, wanted.label),
        run_(std::make_shared<CallRun>(
            engine, CallPrompts{.num_tokens = std::vector<std::size_t>(wanted.num_texts),  // without a bound
                                .make = [this](std::size_t index) { return begin(index); },
                                .on_event = [this](std::size_t index, const TokenEvent& event) { note(index, event); },
                                .most_at_once = kMaxTextsAtOnce})) {}
  ~Run() { run_->cancel(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<bool> run() {
    const InterruptGuard guard;
    for (;;) {
      OCTAVO_TRY_VOID(take_ended());
      if (num_taken_ == wanted_.num_texts) return true;
      OCTAVO_TRY_VOID(run_->go_on(run_));
      if (guard.interrupted()) return false;
      engine_.step();
    }
  }

 private:
  Result<Request> begin(std::size_t index) {
    if (texts_.size() == kMaxTextsAtOnce) return fail_as(ErrorKind::kQueueFull, "the first of the texts is awaited");
    OCTAVO_TRY(EmbeddingPrompt prompt, wanted_.prompt(index));
    const std::size_t num_rows = wanted_.pooling == Pooling::kNone ? prompt.tokens.size() : 1;
    const Text& text = texts_.emplace_back(std::make_shared<TextRows>(num_rows * wanted_.width));
    Request request{.tokens = std::move(prompt.tokens), .max_tokens = -1};
    request.token_types = std::move(prompt.token_types);
    request.embedding = {.pooling = wanted_.pooling,
                         .on_rows = [rows = text.rows](int, int, std::span<const float> floats) { rows->add(floats); }};
    return request;
  }

  void note(std::size_t index, const TokenEvent& event) {
    Text& text = texts_[index - num_taken_];
    text.finish = event.finish;
    if (event.finish != FinishReason::kNone) text.stats = event.stats;
  }

  Result<void> take_ended() {
    while (!texts_.empty() && texts_.front().finish != FinishReason::kNone) {
      const Text text = std::move(texts_.front());
      texts_.pop_front();
      const std::size_t index = num_taken_++;
      OCTAVO_TRY_VOID(check_not_failed(text.finish, text.stats));
      std::vector<float> rows = text.rows->take();
      if (rows.empty()) return fail("out of memory: the system had none left for the numbers of text {}", index + 1);
      if (!std::ranges::all_of(rows, [](float x) { return std::isfinite(x); }))
        return fail("the model's numbers for text {} are not finite", index + 1);
      OCTAVO_TRY_VOID(wanted_.take(index, std::move(rows)));
      bar_.update(num_taken_, wanted_.num_texts);
    }
    return {};
  }

  Engine& engine_;
  const TextRowsRun& wanted_;
  ProgressBar bar_;
  std::deque<Text> texts_ = {};  // from the first that is not taken on
  std::size_t num_taken_ = 0;
  const std::shared_ptr<CallRun> run_;
};

/// The lines of a text, without line ends, and without a byte order mark at the front.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

Result<bool> run_texts(Engine& engine, const TextRowsRun& run, Context& context) {
  return Run(engine, run, context).run();
}

EngineOptions engine_of_texts(EngineOptions options) {
  options.require_words = true;
  options.max_sequences = static_cast<int>(kMaxTextsAtOnce);  // no more KV memory than they can use
  options.max_queued = 0;                                     // the command itself bounds what waits
  options.max_queued_tokens = 0;
  return options;
}

Result<std::vector<std::string>> read_texts(const std::vector<std::string>& words, const std::string& file,
                                            std::string_view what, Context& context) {
  const bool is_from_words = !words.empty() && file.empty();
  std::vector<std::string> texts = words;
  if (!is_from_words) {
    OCTAVO_TRY(const std::string text, read_text(file == "-" ? std::string() : file, context));
    std::ranges::move(lines_of(text), std::back_inserter(texts));
  }
  if (texts.empty()) return fail("found no {}, expected words, -f FILE, or lines on standard input", what);
  const auto empty = std::ranges::find(texts, std::string());
  if (empty != texts.end())
    return fail("{} {} is empty, expected at least one character", what, empty - texts.begin() + 1);
  return texts;
}

void add_pooling_option(Command& command, std::optional<Pooling>& pooling) {
  std::vector<std::pair<std::string, Pooling>> choices;
  for (const Pooling one : {Pooling::kNone, Pooling::kMean, Pooling::kCls, Pooling::kLast, Pooling::kRank})
    choices.emplace_back(pooling_name(one), one);
  add_choice(
      command, "--pooling", "KIND", choices, store_in(pooling),
      "How the rows of a text's tokens become its vector: mean, cls (the first), last, none (they stay), rank (the "
      "ranking head); default: the model's, else last, of an encoder mean")
      ->per_model();
}

void add_norm_option(Command& command, int& norm) {
  add_integer(
      command, "--embd-normalize", norm, -1, kMaxNorm,
      "What a vector is divided by: 2 (default): its length; 1: the sum of its magnitudes; 0: the largest, over "
      "32760; p: its p-norm; -1: nothing");
}

}  // namespace octavo::cli
