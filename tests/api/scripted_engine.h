// An engine without a model that answers from a thread, as the real one does: every step gives each request its next
// token. Tests hold it, count what it was asked, and see what was cancelled.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "octavo/engine.h"
#include "support/no_text.h"

namespace octavo::test {

/// Shared by a test and the engines it makes; all of it may be used from any thread.
struct EngineScript {
  std::chrono::microseconds step_time{200};
  std::string piece = "word ";      // the text of every token
  std::size_t bytes_per_token = 1;  // that detokenize() gives for an id
  std::size_t max_queued = 1000;
  std::atomic<bool> too_long = false;  // the text of every token is more than memory can hold
  std::atomic<bool> held = false;      // no step is made while this is set
  int context = 10'000;
  EmbeddingInfo embedding = {};  // of its model
  VisionInfo vision = {};        // the same
  std::size_t most_active = 0;   // requests at once so far; under the mutex
  std::uint64_t weight_bytes = 0;
  std::atomic<bool> tokenizing_held = false;  // no text is tokenized while this is set
  std::size_t held_text_bytes = 0;            // but for shorter ones
  std::atomic<int> prompt_tokens_read = -1;   // while not negative: so many of each prompt, and no token
  std::atomic<bool> breaks = false;           // the next step throws
  std::atomic<bool> stats_fail = false;       // stats() throws
  std::atomic<int> num_tokenized = 0;         // texts, those that wait included
  std::atomic<int> num_tokenizes_stopped = 0;
  std::atomic<bool> compiling_held = false;  // no constraint is compiled while this is set, but it may be stopped
  std::atomic<int> num_compiles_stopped = 0;
  std::atomic<int> num_submitted = 0, num_cancelled = 0, num_running = 0;
  std::mutex mutex;
  std::vector<Request> requests;      // as submitted; under the mutex
  std::vector<std::string> compiles;  // the sources of constraints as they were begun; under the mutex
  std::set<std::string> remembered;   // those that were compiled; under the mutex
  /// DRY's breakers: who looked for them, and whether what was found is held when the request is submitted.
  struct Breakers {
    std::thread::id searched_by = {}, submitted_by = {};
    std::weak_ptr<const void> found = {};
    bool is_held_at_submit = false;
  };
  Breakers breakers;  // under the mutex
};

class ScriptedText final : public NoText {
 public:
  explicit ScriptedText(EngineScript& script) : script_(script) {
    model.name = "Scripted Engine 1";
    model.vocab_size = model.num_tokens = 256;
    model.max_context = script.context;
    model.embedding = script.embedding;
    model.vision = script.vision;
    model.weight_bytes = script.weight_bytes;
  }

  /// One token a byte.
  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override {
    ++script_.num_tokenized;
    if (options.work != nullptr) OCTAVO_TRY_VOID(options.work->add_text(text.size()));
    while (script_.tokenizing_held && text.size() >= script_.held_text_bytes) {
      if (options.work != nullptr && options.work->is_stopped()) {
        ++script_.num_tokenizes_stopped;
        return std::unexpected(options.work->stopped());
      }
      std::this_thread::sleep_for(script_.step_time);
    }
    std::vector<TokenId> tokens;
    if (options.max_tokens > 0 && text.size() > options.max_tokens)
      return fail_as(ErrorKind::kContextOverflow, "too many tokens");
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::string detokenize(std::span<const TokenId> tokens) const override {
    std::string text;
    for (const TokenId id : tokens) text.append(script_.bytes_per_token, static_cast<char>(id));
    return text;
  }
  static std::string text_of(const ChatMessage& message) {
    std::string text = message.content;
    for (const ContentPart& part : message.parts) text += part.text;
    return text;
  }
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                 const ChatTemplateOptions& options) const override {
    std::string text;
    std::vector<PromptPicture> pictures;
    for (const ChatMessage& message : messages) {
      text += text_of(message);
      for (const ContentPart& part : message.parts) {  // a picture is a token behind its message
        if (part.kind != ContentPart::Kind::kPicture) continue;
        pictures.push_back({.first = static_cast<std::int32_t>(text.size()), .count = 1});
        text += '#';
      }
    }
    OCTAVO_TRY(auto tokens, tokenize(text, {.max_tokens = options.max_tokens, .work = options.work}));
    return ChatPrompt{.tokens = std::move(tokens), .pictures = std::move(pictures)};
  }
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions&) const override {
    std::string text;
    for (const ChatMessage& message : messages) text += text_of(message);
    return text;
  }
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& stop) const override {
    struct Nothing final : Constraint {};
    {
      const std::lock_guard lock(script_.mutex);
      if (script_.remembered.contains(source.text)) return std::make_shared<const Nothing>();
      if (stop.stop_requested()) return fail_as(ErrorKind::kStopped, "compiling was stopped");
      script_.compiles.push_back(source.text);
    }
    while (script_.compiling_held && !stop.stop_requested()) std::this_thread::sleep_for(script_.step_time);
    if (stop.stop_requested()) {
      ++script_.num_compiles_stopped;
      return fail_as(ErrorKind::kStopped, "compiling was stopped");
    }
    const std::lock_guard lock(script_.mutex);
    script_.remembered.insert(source.text);
    return std::make_shared<const Nothing>();
  }
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text,
                                           const EmbeddingPromptOptions& options) const override {
    OCTAVO_TRY(std::vector<TokenId> tokens, tokenize(text, {.max_tokens = options.max_tokens, .work = options.work}));
    return EmbeddingPrompt{.tokens = std::move(tokens)};
  }
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override {
    return embedding_prompt(std::string(query) + std::string(document), options);
  }
  std::shared_ptr<const void> find_dry_breakers(const SamplingParams& params) const override {
    if (params.dry.multiplier <= 0) return nullptr;
    auto found = std::make_shared<const int>(0);
    const std::lock_guard lock(script_.mutex);
    script_.breakers.searched_by = std::this_thread::get_id();
    script_.breakers.found = found;
    return found;
  }

 private:
  EngineScript& script_;
};

class ScriptedEngine final : public Engine {
 public:
  explicit ScriptedEngine(EngineScript& script)
      : Engine(std::make_shared<const ScriptedText>(script)), script_(script) {}

  EngineStats stats() const override {
    if (script_.stats_fail) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    EngineStats stats;
    stats.running = static_cast<int>(active_.size());
    stats.steps = num_steps_;
    stats.threads = 2;
    stats.kv.blocks_total = 100;
    stats.kv.blocks_referenced = stats.running;
    return stats;
  }

  Result<RequestId> submit(Request request, TokenCallback on_event) override {
    const std::lock_guard lock(mutex_);
    if (draining_) return fail_as(ErrorKind::kDraining, "draining");
    if (active_.size() >= script_.max_queued) return fail_as(ErrorKind::kQueueFull, "the queue is full");
    ++script_.num_submitted;
    ++script_.num_running;
    {
      const std::lock_guard script_lock(script_.mutex);
      script_.requests.push_back(request);
      script_.breakers.submitted_by = std::this_thread::get_id();
      script_.breakers.is_held_at_submit = !script_.breakers.found.expired();
      script_.most_active = std::max(script_.most_active, active_.size() + 1);
    }
    const RequestId id = ++last_id_;
    active_[id] = {.request = std::move(request), .on_event = std::move(on_event), .num_tokens = 0};
    changed_.notify_all();
    return id;
  }

  void cancel(RequestId id) override {
    std::unique_lock lock(mutex_);
    const auto found = active_.find(id);
    if (found == active_.end()) return;
    ++script_.num_cancelled;
    end(lock, found, -1, FinishReason::kCancelled);
  }

  bool step() override {
    std::this_thread::sleep_for(script_.step_time);
    if (script_.breaks) throw std::runtime_error("a wheel is off");
    if (script_.held) return true;
    std::unique_lock lock(mutex_);
    ++num_steps_;
    if (const int read = script_.prompt_tokens_read; read >= 0) return tell_progress(read);
    std::vector<RequestId> ids;
    for (const auto& [id, active] : active_) ids.push_back(id);
    for (const RequestId id : ids) {
      const auto found = active_.find(id);
      if (found != active_.end()) advance(lock, found);
    }
    return !active_.empty();
  }

  void run_until(std::stop_token stop) override {
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [this] { return draining_ || !active_.empty(); });
        if (draining_ && active_.empty()) return;
      }
      step();
    }
  }
  void drain() override {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    changed_.notify_all();
  }

 private:
  struct Active {
    Request request;
    TokenCallback on_event;
    int num_tokens;
  };
  using Place = std::map<RequestId, Active>::iterator;

  bool tell_progress(int read) const {
    for (const auto& [id, active] : active_) {
      const auto total = static_cast<int>(active.request.tokens.size());
      if (active.request.on_prompt_progress)
        active.request.on_prompt_progress({.prompt_tokens = total,
                                           .cached_tokens = std::min(read, 2),
                                           .computed_tokens = std::min(read, total),
                                           .seconds = 0.5});
    }
    return true;
  }
  void advance(std::unique_lock<std::mutex>& lock, Place place) {
    Active& active = place->second;
    if (active.request.embedding.on_rows) {
      give_row(active.request);
      return end(lock, place, -1, FinishReason::kLength);
    }
    ++active.num_tokens;
    const int max_tokens = active.request.max_tokens == 0 ? 1000 : active.request.max_tokens;
    if (active.num_tokens >= max_tokens) return end(lock, place, 'w', FinishReason::kLength);
    emit(active, 'w', FinishReason::kNone);
  }
  /// The number of tokens, and zeros.
  void give_row(const Request& request) const {
    const bool is_rank = request.embedding.pooling == Pooling::kRank;
    std::vector<float> row(is_rank ? info().embedding.labels.size() : static_cast<std::size_t>(info().embedding.width));
    row.front() = static_cast<float>(request.tokens.size());
    request.embedding.on_rows(0, 1, row);
  }
  void end(std::unique_lock<std::mutex>& lock, Place place, TokenId token, FinishReason reason) {
    const Active active = std::move(place->second);
    active_.erase(place);
    --script_.num_running;
    lock.unlock();  // as in the real engine, a callback may call the engine
    emit(active, token, reason);
    lock.lock();
  }
  void emit(const Active& active, TokenId token, FinishReason reason) const {
    TokenEvent event{.token = token, .logprob = -0.5F, .finish = reason};
    if (token >= 0) event.text = event.bytes = script_.piece;
    if (token >= 0 && script_.too_long) event.text = {script_.piece.data(), std::string::npos - 1};
    event.stats = {.prompt_tokens = static_cast<int>(active.request.tokens.size()),
                   .generated_tokens = active.num_tokens,
                   .total_s = 0.5};
    for (int choice = 0; choice < active.request.num_choices; ++choice) {
      event.choice = active.request.first_choice + static_cast<std::uint32_t>(choice);
      active.on_event(event);
    }
  }

  EngineScript& script_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<RequestId, Active> active_;
  RequestId last_id_ = 0;
  std::uint64_t num_steps_ = 0;
  bool draining_ = false;
};

}  // namespace octavo::test
