// An engine without a model: it answers with fixed tokens, so that commands are tested for what they do around it.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "octavo/engine.h"
#include "support/no_text.h"

namespace octavo::test {

/// The engine's orders, and its records of requests.
struct FakeEngineState {
  FakeEngineState() {
    info.name = "fake";
    info.architecture = "llama";
    info.vocab_size = 4;
    info.max_context = 100;
    info.end_tokens = {{.id = 2, .text = "</s>", .source = "tokenizer.ggml.eos_token_id"}};
  }

  std::vector<std::string> answer = {"Hello", ", ",
                                     "world"};  // one piece of text a token; choice i begins with piece i
  std::vector<std::string> reasoning;           // of the same tokens, from the first on
  bool prompts_end_in_reasoning = false;
  ModelInfo info;
  EngineStats stats;
  SamplingParams file_sampling{.temperature = -1};  // of the model's file; below 0: the file has none
  std::function<void(int)> on_token;                // called before token i is made
  std::function<float(int, int)> logit = [](int i, int j) { return static_cast<float>(i + j); };  // j of row i
  /// Rows of a request for them; the last text of a step ends first.
  std::function<std::vector<float>(const Request&)> rows = [](const Request& request) {
    return std::vector<float>{static_cast<float>(request.tokens.size()), 0};
  };
  std::size_t most_texts = 0;  // at once
  EngineOptions options;       // of the last load
  std::vector<Request> requests;
  std::vector<ConstraintSource> constraints;
  std::vector<std::vector<ChatMessage>> conversations;
  int num_cancelled = 0;
};

class StateText final : public NoText {
 public:
  explicit StateText(FakeEngineState& state) : NoText(state.info), state_(state) {}

  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& = {}) const override {
    struct Empty final : Constraint {
      explicit Empty(std::vector<std::string> warnings) : Constraint(std::move(warnings)) {}
    };
    if (source.text == "(") return std::unexpected(Error{"found a group that is not closed"});
    state_.constraints.push_back(source);
    const bool is_odd = source.text.find("odd") != std::string::npos;
    return std::make_shared<const Empty>(is_odd ? std::vector<std::string>{"#/odd: it"} : std::vector<std::string>());
  }
  /// One token a byte.
  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions&) const override {
    return std::vector<TokenId>(text.begin(), text.end());
  }
  /// A token a byte.
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text,
                                           const EmbeddingPromptOptions& options) const override {
    EmbeddingPrompt prompt{.tokens = {text.begin(), text.end()}};
    const auto most = static_cast<std::size_t>(state_.info.max_context);
    if (text.size() > most && !options.cuts) return std::unexpected(Error{"found too long a text"});
    prompt.tokens.resize(std::min(most, prompt.tokens.size()));
    return prompt;
  }
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override {
    return embedding_prompt(std::string(query) + std::string(document), options);
  }
  std::string detokenize(std::span<const TokenId> tokens) const override { return {tokens.begin(), tokens.end()}; }
  /// As many tokens as the contents have bytes, and two for a picture.
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages, const ChatTemplateOptions&) const override {
    state_.conversations.emplace_back(messages.begin(), messages.end());
    ChatPrompt prompt{.ends_in_reasoning = state_.prompts_end_in_reasoning};
    for (const ChatMessage& message : messages) {
      prompt.tokens.insert(prompt.tokens.end(), message.content.size(), static_cast<TokenId>('x'));
      for (const ContentPart& part : message.parts) {
        const bool is_picture = part.kind == ContentPart::Kind::kPicture;
        if (is_picture)
          prompt.pictures.push_back({.first = static_cast<std::int32_t>(prompt.tokens.size()), .count = 2});
        prompt.tokens.insert(prompt.tokens.end(), is_picture ? 2 : part.text.size(), static_cast<TokenId>('x'));
      }
    }
    return prompt;
  }
  SamplingParams default_sampling(SamplingParams defaults) const override {
    return state_.file_sampling.temperature < 0 ? defaults : state_.file_sampling;
  }

 private:
  FakeEngineState& state_;
};

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(FakeEngineState& state) : Engine(std::make_shared<const StateText>(state)), state_(state) {}

  EngineStats stats() const override { return state_.stats; }

  Result<RequestId> submit(Request request, TokenCallback on_event) override {
    for (const TokenId token : request.tokens)
      if (token < 0 || token >= 1000) return std::unexpected(Error{"token outside the vocabulary"});
    state_.requests.push_back(request);
    if (request.embedding.on_rows) {
      texts_.emplace_back(std::move(request), std::move(on_event));
      state_.most_texts = std::max(state_.most_texts, texts_.size());
      return RequestId{state_.requests.size()};
    }
    on_event_ = std::move(on_event);
    next_ = 0;
    active_ = true;
    return RequestId{1};
  }
  void run_until(std::stop_token) override { run(); }
  void drain() override {}
  void cancel(RequestId) override {
    if (!texts_.empty()) {
      ++state_.num_cancelled;
      texts_.pop_back();
    }
    if (!active_) return;
    ++state_.num_cancelled;
    emit({.request = 1}, FinishReason::kCancelled);
  }
  bool step() override {
    for (; !texts_.empty(); texts_.pop_back()) give_rows(texts_.back().first, texts_.back().second);
    if (!active_) return false;
    const Request& request = state_.requests.back();
    if (request.on_prompt_logits) return give_logits(request);
    if (state_.on_token) state_.on_token(next_);
    const auto i = static_cast<std::size_t>(next_++);
    const bool last = i + 1 == state_.answer.size();
    const bool full = next_ == request.max_tokens;
    TokenEvent event{.request = 1, .token = static_cast<TokenId>(i), .logprob = -0.5F, .text = {}};
    emit(event, last ? FinishReason::kStop : full ? FinishReason::kLength : FinishReason::kNone);
    return true;
  }

 private:
  void emit(TokenEvent event, FinishReason finish) {
    event.finish = finish;
    if (finish != FinishReason::kNone) {
      active_ = false;
      event.stats = {.prompt_tokens = static_cast<int>(state_.requests.back().tokens.size()),
                     .generated_tokens = next_,
                     .reasoning_tokens = static_cast<int>(state_.reasoning.size()),
                     .time_to_first_token_s = 0.5,
                     .total_s = 2.5};
    }
    const Request& request = state_.requests.back();
    const auto token = static_cast<std::size_t>(event.token);
    for (std::size_t choice = 0; choice < static_cast<std::size_t>(request.num_choices); ++choice) {
      event.choice = request.first_choice + static_cast<std::uint32_t>(choice);
      if (event.token >= 0) event.text = state_.answer[(token + choice) % state_.answer.size()];
      if (event.token >= 0 && token < state_.reasoning.size()) event.reasoning = state_.reasoning[token];
      on_event_(event);
    }
  }
  void give_rows(const Request& request, const TokenCallback& on_event) const {
    request.embedding.on_rows(0, 1, state_.rows(request));
    on_event({.finish = FinishReason::kLength});
  }
  /// Two rows a call.
  bool give_logits(const Request& request) {
    const int num_rows = static_cast<int>(request.tokens.size());
    for (int first = 0; first < num_rows; first += 2) {
      std::vector<float> rows;
      for (int i = first; i < std::min(first + 2, num_rows); ++i)
        for (int j = 0; j < state_.info.vocab_size; ++j) rows.push_back(state_.logit(i, j));
      request.on_prompt_logits(first, rows);
    }
    emit({.request = 1}, FinishReason::kLength);
    return true;
  }

  FakeEngineState& state_;
  TokenCallback on_event_;
  std::vector<std::pair<Request, TokenCallback>> texts_ = {};
  int next_ = 0;
  bool active_ = false;
};

/// Runs the command line with its own streams and, where a command loads one, a FakeEngine.
struct CliRun {
  FakeEngineState engine;
  std::istringstream in;
  std::ostringstream out, err;
  bool out_is_terminal = false, err_is_terminal = false;
  std::optional<cli::TerminalStream> shown_out, shown_err;  // made by context()
  std::filesystem::path cache_folder, program;
  hub::Settings hub;                               // no folder is known: nothing is fetched
  std::string name = "octavo";                     // that the program is called by
  std::map<std::string, std::string> environment;  // variables of other programs
  cli::PipedInput piped_input = cli::PipedInput::kThere;
  std::function<Result<std::unique_ptr<Engine>>(EngineOptions)> load_engine;  // if set, instead of a FakeEngine
  DeviceRates device{.read_bytes_per_s = 4e12, .copy_bytes_per_s = 3e12};
  MachineLimits machine{.cpu = "fake",
                        .isa = "scalar",
                        .num_threads = 1,
                        .read_bytes_per_s = 1e10,
                        .int8_ops_per_s = 1e11,
                        .float_ops_per_s = 1e10};
  int code = -1;

  /// The streams and the engine must outlive it.
  cli::Context context() {
    shown_out.emplace(out, cli::StreamEnd{.is_terminal = out_is_terminal, .is_for_people = false});
    shown_err.emplace(err, cli::StreamEnd{.is_terminal = err_is_terminal});
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(*shown_err);
    cli::Context made{.in = in,
                      .out = *shown_out,
                      .err = *shown_err,
                      .await_piped_input = [this] { return piped_input; },
                      .cache_folder = cache_folder,
                      .hub = hub,
                      .environment = [this](const char* variable) -> std::optional<std::string> {
                        const auto found = environment.find(variable);
                        return found == environment.end() ? std::nullopt : std::optional(found->second);
                      },
                      .program = program,
                      .load_engine = [this](EngineOptions options) -> Result<std::unique_ptr<Engine>> {
                        if (load_engine) return load_engine(std::move(options));
                        if (options.on_load_progress) options.on_load_progress({.done_bytes = 1, .total_bytes = 2});
                        engine.options = std::move(options);
                        return std::make_unique<FakeEngine>(engine);
                      },
                      .measure_machine = [this](int, std::string_view) -> Result<MachineLimits> { return machine; },
                      .measure_device = [this]() -> Result<DeviceRates> { return device; },
                      .log = std::make_shared<spdlog::logger>("octavo", std::move(sink))};
    made.log->set_level(spdlog::level::warn);
    return made;
  }
  int run(std::vector<std::string> args, const std::string& input = "") {
    in.clear();
    in.str(input);
    out.str("");
    err.str("");
    cli::Context surroundings = context();
    std::vector<const char*> argv = {name.c_str()};
    for (const std::string& arg : args) argv.push_back(arg.c_str());
    code = cli::run_cli(static_cast<int>(argv.size()), argv.data(), surroundings);
    return code;
  }
};

}  // namespace octavo::test
