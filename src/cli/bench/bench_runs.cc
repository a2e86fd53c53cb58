#include "cli/bench/bench_runs.h"

#include <algorithm>

#include "base/to_size.h"
#include "cli/generate.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kTokenSample = 4096;

/// The times of `after` minus those of `before`.
StepProfile between(const StepProfile& before, const StepProfile& after) {
  StepProfile profile;
  for (std::size_t i = 0; i < kNumStepParts; ++i)
    profile.parts[i] = {.seconds = after.parts[i].seconds - before.parts[i].seconds,
                        .working_seconds = after.parts[i].working_seconds - before.parts[i].working_seconds};
  return profile;
}

int divided_up(std::int64_t n, int by) { return static_cast<int>((n + by - 1) / by); }

/// Whether the model has a vocabulary that is known.
bool has_words(const ModelText& words) {
  const auto tokens = words.tokenize("", {});
  return tokens || tokens.error().kind != ErrorKind::kNoWords;
}

/// Whether a token is not special: the text of a special one gives different tokens where special tokens are parsed.
bool is_ordinary(const ModelText& words, TokenId token) {
  const std::string text = words.detokenize({&token, 1});
  if (text.empty()) return false;
  const auto plain = words.tokenize(text, {.add_special = false, .parse_special = false});
  const auto parsed = words.tokenize(text, {.add_special = false, .parse_special = true});
  return plain && parsed && *plain == *parsed;
}

/// The tokens of a sequence when the clock of its decode starts.
int decode_prompt(const BenchCase& c) { return std::max(1, c.shared > 0 ? c.shared + 1 : c.depth); }

/// The tokens of a prefill before the clock starts: whole steps, as a step cannot be timed in part.
int prefill_depth(const BenchCase& c, int max_step_tokens) {
  return divided_up(c.depth, max_step_tokens) * max_step_tokens;
}

/// The most tokens that the first of several sequences has made before the last one begins: each step reads a part of
/// their prompts, besides a row of each sequence that has begun.
int head_start(const BenchCase& c, int max_step_tokens) {
  return divided_up(std::int64_t{c.batch} * decode_prompt(c), std::max(1, max_step_tokens - c.batch)) + c.batch;
}

}  // namespace

std::string_view BenchCase::name() const {
  if (shared > 0) return is_prefill ? "shared-prefill" : "shared-decode";
  return is_prefill ? "prefill" : "decode";
}

int longest_sequence(const BenchCase& c, int max_step_tokens) {
  return c.is_prefill ? prefill_depth(c, max_step_tokens) + c.shared + c.prompt + 1
                      : decode_prompt(c) + head_start(c, max_step_tokens) + c.gen + 1;
}

Result<RandomTokens> RandomTokens::create(const ModelText& words) {
  RandomTokens tokens;
  const bool all_ordinary = !has_words(words);
  std::uniform_int_distribution<TokenId> any(0, words.info().vocab_size - 1);
  for (std::size_t tries = 0; tries < 4 * kTokenSample && tokens.ordinary_.size() < kTokenSample; ++tries)
    if (const TokenId token = any(tokens.random_); all_ordinary || is_ordinary(words, token))
      tokens.ordinary_.push_back(token);
  if (tokens.ordinary_.empty())
    return fail("found no ordinary token among {} of the model's vocabulary", 4 * kTokenSample);
  return tokens;
}

std::vector<TokenId> RandomTokens::take(int count) {
  std::uniform_int_distribution<std::size_t> any(0, ordinary_.size() - 1);
  std::vector<TokenId> tokens(to_size(count));
  for (TokenId& token : tokens) token = ordinary_[any(random_)];
  return tokens;
}

Result<BenchRunner> BenchRunner::create(Engine& engine, int max_step_tokens, const InterruptGuard& guard) {
  OCTAVO_TRY(RandomTokens tokens, RandomTokens::create(*engine.text()));
  return BenchRunner(engine, max_step_tokens, guard, std::move(tokens));
}

Result<std::optional<BenchRun>> BenchRunner::run(const BenchCase& c) {
  const std::uint64_t preemptions = engine_.stats().preemptions;
  const Result<BenchRun> run = c.is_prefill ? prefill(c) : decode(c);
  for (const Sequence& sequence : sequences_) engine_.cancel(sequence.id);
  if (guard_.interrupted()) return std::nullopt;
  if (run && engine_.stats().preemptions > preemptions)
    return fail("{}: sequences of {} tokens each gave their KV memory back while they were measured; it has {} bytes",
                c.batch, longest_sequence(c, max_step_tokens_), engine_.info().kv_arena_bytes);
  if (!run) return std::unexpected(run.error());
  OCTAVO_TRY_VOID(check_not_failed(failure_));
  return *run;
}

/// Submits requests of `own_tokens` tokens each, after those that all share.
Result<void> BenchRunner::submit(const BenchCase& c, int own_tokens, int max_tokens) {
  sequences_.assign(to_size(c.batch), {});
  num_begun_ = num_ended_ = 0;
  failure_ = FinishReason::kNone;
  num_made_ = 0;
  const std::vector<TokenId> shared = tokens_.take(c.shared);
  for (Sequence& sequence : sequences_) {
    Request request{.tokens = shared,
                    .sampling = {.temperature = 0},
                    .max_tokens = max_tokens,
                    .ignore_eos = true,
                    .logprobs = false};
    const std::vector<TokenId> own = tokens_.take(own_tokens);
    request.tokens.insert(request.tokens.end(), own.begin(), own.end());
    sequence.prompt = static_cast<int>(request.tokens.size());
    OCTAVO_TRY(sequence.id, engine_.submit(std::move(request), [this, &sequence](const TokenEvent& event) {
      if (event.token >= 0) {
        if (sequence.made++ == 0) ++num_begun_;
        ++num_made_;
      }
      if (event.finish == FinishReason::kNone) return;
      ++num_ended_;
      if (!check_not_failed(event.finish)) failure_ = event.finish;
    }));
  }
  return {};
}

bool BenchRunner::step() { return engine_.step() && !guard_.interrupted(); }

Result<BenchRun> BenchRunner::prefill(const BenchCase& c) {
  const int depth = prefill_depth(c, max_step_tokens_);
  EngineStats before = engine_.stats();
  const std::uint64_t computed = before.computed_tokens;
  auto start = Clock::now();
  OCTAVO_TRY_VOID(submit(c, depth + c.prompt, 1));
  int first = 0;
  if (depth > 0) {
    while (first < depth && step()) first = static_cast<int>(engine_.stats().computed_tokens - computed);
    before = engine_.stats();
    start = Clock::now();
  }
  while (num_ended_ < c.batch && step()) {
  }
  const double tokens = static_cast<double>(c.batch) * (sequences_.front().prompt - first);
  return finish(start, before, tokens, prefill_work(c, first));
}

/// The work for rows from position `first` on; shared tokens are computed once.
Work BenchRunner::prefill_work(const BenchCase& c, int first) const {
  Work work;
  std::vector<SequenceRows> step;
  int room = max_step_tokens_;
  for (int i = 0; i < c.batch; ++i) {
    const int end = sequences_[to_size(i)].prompt;
    for (int row = i == 0 ? first : std::max(first, c.shared), rows = 0; row < end; row += rows) {
      rows = std::min(room, end - row);
      step.push_back({.first_row = row, .num_rows = rows, .logits = row + rows == end});
      room -= rows;
      if (room > 0) continue;
      work += step_work(engine_.info(), step);
      step.clear();
      room = max_step_tokens_;
    }
  }
  if (!step.empty()) work += step_work(engine_.info(), step);
  return work;
}

Result<BenchRun> BenchRunner::decode(const BenchCase& c) {
  const int prompt = decode_prompt(c);
  OCTAVO_TRY_VOID(submit(c, prompt - c.shared, head_start(c, max_step_tokens_) + c.gen + 1));
  while (num_begun_ < c.batch && num_ended_ == 0 && step()) {
  }
  const Work work = decode_work(c);
  const std::int64_t tokens = std::int64_t{c.gen} * c.batch, until = num_made_ + tokens;
  const EngineStats before = engine_.stats();
  const auto start = Clock::now();
  while (num_made_ < until && num_ended_ == 0 && step()) {
  }
  const BenchRun run = finish(start, before, static_cast<double>(tokens), work);
  if (num_made_ < until && !guard_.interrupted())
    return fail("{} sequences of {} tokens each did not run together; the KV memory has {} bytes", c.batch,
                longest_sequence(c, max_step_tokens_), engine_.info().kv_arena_bytes);
  return run;
}

BenchRun BenchRunner::finish(Clock::time_point start, const EngineStats& before, double tokens, Work work) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const EngineStats after = engine_.stats();
  return {.seconds = seconds,
          .tokens = tokens,
          .work = work,
          .steps = after.steps - before.steps,
          .threads = after.threads,
          .profile = between(before.profile, after.profile)};
}

/// The work of the steps to come, each of which computes the last token of every sequence.
Work BenchRunner::decode_work(const BenchCase& c) const {
  Work work;
  std::vector<SequenceRows> rows;
  rows.reserve(sequences_.size());
  for (const Sequence& s : sequences_)
    rows.push_back({.first_row = s.prompt + s.made - 1, .num_rows = 1, .logits = true});
  for (int i = 0; i < c.gen; ++i) {
    work += step_work(engine_.info(), rows, c.shared);
    for (SequenceRows& row : rows) ++row.first_row;
  }
  return work;
}

}  // namespace octavo::cli
