// An engine over a FakeRunner, and the answers that it must give, computed without it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine_impl.h"
#include "support/fake_encoder.h"
#include "support/fake_runner.h"
#include "support/tiny_vocab.h"

namespace octavo::test {

struct TestEngineOptions {
  FakeRunner::Options runner = {};
  bool prefix_cache = true;
  int tokenizer_size = 32;
  std::unique_ptr<const ChatTokenizer> (*tokenizer)(int size) = tiny_tokenizer;
  int max_context = 200;
  int num_threads = 2;
  std::shared_ptr<Resources> resources = {};  // instead of threads of its own
  Scheduler::Limits limits = {};
  SamplingDefaults sampling_defaults = {};
  int max_queued = 0;
  IdleRelease::Times idle = {};
  DraftOptions draft = {};
  std::int64_t max_queued_tokens = 0;
  KvStoreSettings kv_store = {};
  std::optional<FakeEncoderOptions> encoder = {};  // none: the model reads texts alone
  PictureVectors::Settings picture_memory = {.max_bytes = 1 << 20, .piece_ms = 1};
};

inline constexpr TokenId kPlaceholder = 31;  // of pictures

/// One choice's answer.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::string text, reasoning;
  FinishReason finish = FinishReason::kNone;
  RequestStats stats;
  int num_last_events = 0;

  bool same_tokens(const Answer& other) const { return tokens == other.tokens && logprobs == other.logprobs; }
};

class TestEngine {
 public:
  explicit TestEngine(TestEngineOptions options = {}) {
    auto runner = std::make_unique<FakeRunner>(options.runner);
    runner_ = runner.get();
    EngineParts parts;
    parts.resources =
        options.resources ? options.resources : Resources::create({.num_threads = options.num_threads}).value();
    parts.text.words = ModelTokenizer(options.tokenizer(options.tokenizer_size));
    parts.runner = std::move(runner);
    parts.text.info.max_context = options.max_context;
    parts.text.info.vocab_size = options.runner.vocab_size;
    parts.prefix_cache = options.prefix_cache;
    parts.limits = options.limits;
    parts.idle = options.idle;
    parts.draft = options.draft;
    parts.kv_store = options.kv_store;
    parts.queue_bounds = {.requests = {options.max_queued}, .tokens = {options.max_queued_tokens}};
    parts.text.sampling_defaults = options.sampling_defaults;
    if (options.encoder) {
      const bool joins = options.runner.joint_rows > 0;
      parts.text.pictures = PictureRules{.placeholder = kPlaceholder, .turns_by_grid = !joins, .joins_rows = joins};
      parts.encoder = std::make_unique<FakeEncoder>(*options.encoder);
    }
    parts.picture_memory = options.picture_memory;
    Result<std::unique_ptr<EngineImpl>> engine = EngineImpl::create(std::move(parts));
    if (!engine) throw std::runtime_error(engine.error().message);
    engine_ = std::move(*engine);
    runner_->check_writes_against(engine_->kv());
  }

  EngineImpl& operator*() { return *engine_; }
  EngineImpl* operator->() { return engine_.get(); }
  FakeRunner& runner() { return *runner_; }

  /// Submits and records the answer; the request must be valid.
  RequestId submit(Request request) {
    const auto first_choice = request.first_choice;
    const Result<RequestId> id =
        engine_->submit(std::move(request), [this](const TokenEvent& event) { record(event); });
    if (!id) throw std::runtime_error(id.error().message);
    first_choice_[*id] = first_choice;
    answers_[{*id, first_choice}];
    return *id;
  }
  Answer run(Request request) {
    const RequestId id = submit(std::move(request));
    engine_->run();
    return answer(id);
  }
  std::string refusal(Request request) {
    const Result<RequestId> id = engine_->submit(std::move(request), {});
    return id ? "accepted" : id.error().message;
  }

  void record(const TokenEvent& event) {
    Answer& answer = answers_[{event.request, event.choice}];
    if (event.token >= 0) {
      answer.tokens.push_back(event.token);
      answer.logprobs.push_back(event.logprob);
    }
    answer.text += event.text;
    answer.reasoning += event.reasoning;
    if (event.finish == FinishReason::kNone) return;
    answer.finish = event.finish;
    answer.stats = event.stats;
    ++answer.num_last_events;
  }

  /// Of a request's choice, counted from 0.
  const Answer& answer(RequestId id, int choice = 0) {
    return answers_[{id, first_choice_[id] + static_cast<std::uint32_t>(choice)}];
  }
  bool all_blocks_free() const { return engine_->stats().kv.blocks_referenced == 0; }

 private:
  std::map<std::pair<RequestId, std::uint32_t>, Answer> answers_;
  std::map<RequestId, std::uint32_t> first_choice_;
  FakeRunner* runner_ = nullptr;
  std::unique_ptr<EngineImpl> engine_;
};

/// The next token of an answer with marks as reasoning_tokenizer() has them, if its budget is spent; else -1.
inline TokenId forced_by_budget(const Request& request, std::span<const TokenId> answer) {
  bool inside = request.reasoning.begins_inside;
  int spent = 0;
  for (const TokenId token : answer) {
    // A token that had to be the closing mark is no reasoning of the model's.
    if (inside && spent < request.reasoning.budget) ++spent;
    if (token == (inside ? kTinyThinkEnd : kTinyThink)) inside = !inside;
  }
  return request.reasoning.budget >= 0 && inside && spent == request.reasoning.budget ? kTinyThinkEnd : -1;
}

/// What a row is to the model: its token, or its place in a picture.
inline std::int32_t row_token(const Request& request, std::span<const TokenId> tokens, int position) {
  for (const PromptPicture& given : request.pictures)
    if (given.first <= position && position < given.first + given.count)
      return picture_token(*given.picture, given.index + position - given.first);
  return tokens[static_cast<std::size_t>(position)];
}

/// The model's answer as one choice, token by token, with no engine, cache or batch in between. The request sets
/// max_tokens; `windows` are those of FakeRunner's groups. Characters are never cut where reasoning has a budget.
inline Answer reference_answer(const Request& request, int vocab_size, std::span<const int> windows = {},
                               int choice = 0) {
  constexpr int kAll[] = {0};
  if (windows.empty()) windows = kAll;
  Answer answer;
  SamplerScratch scratch(vocab_size);
  std::vector<float> logits(static_cast<std::size_t>(vocab_size));
  std::vector<TokenId> tokens = request.tokens;
  while (static_cast<int>(answer.tokens.size()) < request.max_tokens) {
    const int last = static_cast<int>(tokens.size()) - 1;
    FakeRunner::fill_logits(
        row_state(windows, last, [&](std::size_t, int position) { return row_token(request, tokens, position); }),
        logits);
    const DrawKey key{.seed = request.sampling.seed,
                      .choice = request.first_choice + static_cast<std::uint32_t>(choice),
                      .position = static_cast<std::uint32_t>(tokens.size())};
    const DrawContext context{.tokens = tokens,
                              .prompt_tokens = static_cast<int>(request.tokens.size()),
                              .forced = forced_by_budget(request, answer.tokens)};
    const SampledToken sampled = sample(logits, vocab_size, request.sampling, key, scratch, context);
    tokens.push_back(sampled.token);
    answer.tokens.push_back(sampled.token);
    answer.logprobs.push_back(sampled.logprob);
  }
  return answer;
}

/// Puts a picture into a prompt, at this place.
inline void add_picture(Request& request, int first, std::shared_ptr<const PreparedPicture> picture) {
  const int count = picture->num_tokens();
  request.tokens.insert(request.tokens.begin() + first, static_cast<std::size_t>(count), kPlaceholder);
  request.pictures.push_back({.first = first, .count = count, .picture = std::move(picture)});
}

/// A request for `max_tokens` tokens, whatever they are; a function of the numbers.
inline Request make_request(int prompt_tokens, int max_tokens, std::uint64_t seed = 1, int vocab_size = 32) {
  Request request{.max_tokens = max_tokens, .ignore_eos = true};
  for (int i = 0; i < prompt_tokens; ++i) {
    request.tokens.push_back(static_cast<TokenId>(mix(seed * 1000 + static_cast<std::uint64_t>(i)) %
                                                  static_cast<std::uint64_t>(vocab_size)));
  }
  request.sampling = {.temperature = 0.8F, .seed = seed};
  return request;
}

}  // namespace octavo::test
