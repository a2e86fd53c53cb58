// The answer to a call, as a stream of events or as one body. Chunks are written straight into the bytes to send.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "api/answers/answer_origin.h"
#include "api/answers/answer_tool_calls.h"
#include "api/answers/llama_timings.h"
#include "api/answers/openai_finish.h"
#include "api/answers/openai_logprobs.h"
#include "api/call/completion.h"
#include "api/openai/openai_usage.h"
#include "base/to_size.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

/// One answer to one prompt.
struct Answer {
  std::optional<AnswerLogprobs> logprobs = {};
  std::unique_ptr<AnswerToolCalls> calls = {};  // null where no tools may be called
  std::string text = {};                        // set where the call is not streamed
  std::string reasoning = {};                   // set where the call is not streamed
  std::vector<TokenId> tokens = {};             // for return_token_ids: the ids that are still to be sent
  std::size_t num_tokens = 0;                   // how many were generated
  bool began = false;
  FinishReason finish = FinishReason::kNone;
  int stop_text = -1;  // RequestStats::stop_text
};

/// An event's text in the form that clients see.
struct Shown {
  std::string_view content, reasoning;
  std::string_view calls = {};  // the elements of a delta's tool_calls
};

std::string_view finish_of(const Answer& answer) {
  const bool calls = answer.finish == FinishReason::kStop && answer.calls && answer.calls->any();
  return calls ? answer.calls->finish_name() : finish_name(answer.finish);
}

std::string error_event(const ApiError& error) { return "data: " + error_body(error) + "\n\n"; }

}  // namespace

struct CompletionResponse::State {
  const CompletionCall& call;
  std::shared_ptr<const ModelText> words;
  std::string head;  // the beginning that all chunks, or the body, share
  OpenAiUsage usage;
  LlamaTimings timings = {};
  std::vector<Answer> answers = {};               // [prompts, n]
  std::vector<std::string> prompt_logprobs = {};  // [prompts]; empty where they are not asked for
  std::size_t num_ended = 0;
  std::size_t held_bytes = 0;
  bool prompt_ids_sent = false;  // a chat's stream sends them once
  bool warnings_sent = false;    // a stream sends them once
  std::optional<ApiError> error = {};

  const CallPrompt& prompt_of(std::size_t index) const { return call.prompts[index / to_size(call.n)]; }
  void add_prompt(const RequestEvent& event, std::size_t index, Answer& answer);
  void end(Answer& answer, bool is_first_choice, const RequestEvent& event);
  void show(std::size_t index, Answer& answer, const RequestEvent& event, std::string& out);
  void keep(std::size_t index, Answer& answer, const RequestEvent& event, const Shown& shown);
  void stream(std::size_t index, Answer& answer, const RequestEvent& event, const Shown& shown, std::string& out);
  void begin_stream(std::size_t index, Answer& answer, std::string& out);
  JsonWriter begin_chunk(std::size_t index, std::string& out) const;
  void end_choice(std::size_t index, std::string_view finish, JsonWriter json) const;
  void end_last_chunk(std::size_t index, const RequestStats& stats, std::string& out) const;
  void write_stop_reason(const Answer& answer, JsonWriter json) const;
  void write_delta(const Answer& answer, const Shown& shown, JsonWriter json) const;
  void write_reasoning(std::string_view reasoning, JsonWriter json) const;
  void write_prompt_ids(std::size_t index, JsonWriter json) const;
  void write_logprobs(Answer& answer, JsonWriter json) const;
  void write_token_ids(Answer& answer, JsonWriter json) const;
  void write_choice(std::size_t index, JsonWriter json);
  std::string usage_chunk() const;
  std::string body();
};

CompletionResponse::CompletionResponse(const CompletionCall& call, std::shared_ptr<const ModelText> words,
                                       const ServedModel& model, std::string_view id, std::int64_t created)
    : state_(
          std::make_unique<State>(State{.call = call,
                                        .words = std::move(words),
                                        .head = {},
                                        .usage = {call.reasoning.is_counted, call.counts_prediction, call.prompts}})) {
  const std::string_view object = !call.is_chat ? "text_completion"
                                  : call.stream ? "chat.completion.chunk"
                                                : "chat.completion";
  std::string& head = state_->head;
  if (call.stream) head += "data: ";
  JsonWriter json = JsonWriter(head).begin_object();
  json.fields("id", id, "object", object, "created", created, "model", model.id);
  write_origin(call, model, json);
  json.key("choices").begin_array();

  state_->answers.resize(call.prompts.size() * to_size(call.n));
  for (std::size_t i = 0; call.tools != nullptr && i < state_->answers.size(); ++i)
    state_->answers[i].calls =
        std::make_unique<AnswerToolCalls>(*call.tools, fmt::format("{} {}", id, i),
                                          CallStyle{.is_kept = !call.stream, .is_function = call.calls_are_functions});
  if (call.num_prompt_logprobs >= 0) state_->prompt_logprobs.resize(call.prompts.size());
  if (call.num_logprobs < 0) return;
  for (std::size_t i = 0; i < state_->answers.size(); ++i) {
    state_->answers[i].logprobs.emplace(state_->words, call.is_chat ? LogprobForm::kChat : LogprobForm::kCompletion,
                                        state_->prompt_of(i).last_token,
                                        call.names_tokens_by_id ? TokenNaming::kIds : TokenNaming::kTexts);
  }
}

CompletionResponse::~CompletionResponse() = default;

std::size_t CompletionResponse::held_bytes() const { return state_->held_bytes; }

bool CompletionResponse::done() const { return state_->num_ended == state_->answers.size(); }

const ApiError* CompletionResponse::error() const { return state_->error ? &*state_->error : nullptr; }

std::string CompletionResponse::fail(const ApiError& error) {
  if (!state_->error) state_->error = error;
  return error_event(error);
}

std::string CompletionResponse::on_event(const RequestEvent& event) {
  State& state = *state_;
  const std::size_t index = event.prompt_index * to_size(state.call.n) + event.choice;
  Answer& answer = state.answers[index];
  std::string out;
  if (event.finish != FinishReason::kNone) state.end(answer, event.choice == 0, event);
  if (state.error) return out;  // a client that was told of the error expects nothing more
  if (std::optional<ApiError> error = error_of(event.finish, event.stats)) {
    state.error = std::move(error);
    return state.call.stream ? error_event(*state.error) : out;
  }
  state.add_prompt(event, index, answer);
  if (event.token >= 0) ++answer.num_tokens;
  if (state.call.return_token_ids && event.token >= 0) answer.tokens.push_back(event.token);
  state.show(index, answer, event, out);
  return out;
}

bool CompletionResponse::is_long(const RequestEvent& event) const {
  const CompletionCall& call = state_->call;
  const std::size_t index = event.prompt_index * to_size(call.n) + event.choice;
  const Answer& answer = state_->answers[index];
  int of_token = 0;
  if (answer.logprobs && call.echo && !answer.began) of_token += 1 + call.num_logprobs;
  if (call.num_prompt_logprobs >= 0 && state_->prompt_logprobs[event.prompt_index].empty())
    of_token += 1 + call.num_prompt_logprobs;
  return of_token > 0 && state_->prompt_of(index).tokens.size() * to_size(of_token) > kMostNumbersHere;
}

void CompletionResponse::State::add_prompt(const RequestEvent& event, std::size_t index, Answer& answer) {
  const CallPrompt& prompt = prompt_of(index);
  if (answer.logprobs && call.echo && !answer.began) answer.logprobs->add_prompt(prompt, call.num_logprobs);
  if (call.num_prompt_logprobs < 0 || !prompt_logprobs[event.prompt_index].empty()) return;
  prompt_logprobs[event.prompt_index] = prompt_logprobs_json(prompt, call.num_prompt_logprobs, *words);
  held_bytes += prompt_logprobs[event.prompt_index].size() * to_size(call.n);
}

void CompletionResponse::State::show(std::size_t index, Answer& answer, const RequestEvent& event, std::string& out) {
  AnswerToolCalls::Shown parsed;
  if (answer.calls) {
    held_bytes -= answer.calls->held_bytes();
    parsed = answer.calls->push(event);
    held_bytes += answer.calls->held_bytes();
  }
  Shown shown =
      answer.calls ? Shown{parsed.content, parsed.reasoning, parsed.deltas} : Shown{event.text, event.reasoning};
  if (!call.reasoning.is_shown) shown.reasoning = {};
  if (call.stream) {
    stream(index, answer, event, shown, out);
  } else {
    keep(index, answer, event, shown);
  }
}

// The chunk has a choice that says nothing: one without choices would be taken for the chunk with the usage.
std::string CompletionResponse::progress(std::size_t prompt_index, const PromptProgress& progress) const {
  const State& state = *state_;
  std::string out;
  if (state.error) return out;
  const std::size_t index = prompt_index * to_size(state.call.n);
  JsonWriter json = state.begin_chunk(index, out);
  json.raw(state.call.is_chat ? R"("delta":{},"logprobs":null)" : R"("text":"","logprobs":null)");
  state.end_choice(index, {}, json);
  json.key("prompt_progress").begin_object();
  json.fields("total", progress.prompt_tokens, "cache", progress.cached_tokens, "processed", progress.computed_tokens,
              "time_ms", std::llround(progress.seconds * 1000));
  if (progress.encoded_tokens > 0) json.fields("encoded", progress.encoded_tokens);
  json.end_object();
  out += "}\n\n";
  return out;
}

std::string CompletionResponse::finish() {
  const State& state = *state_;
  if (!state.call.stream) return state_->body();
  return (state.call.include_usage ? state.usage_chunk() : std::string()) + "data: [DONE]\n\n";
}

void CompletionResponse::State::end(Answer& answer, bool is_first_choice, const RequestEvent& event) {
  answer.finish = event.finish;
  answer.stop_text = event.stats.stop_text;
  ++num_ended;
  usage.add(event.stats, is_first_choice);
  timings.add(event.stats, is_first_choice);
}

void CompletionResponse::State::keep(std::size_t index, Answer& answer, const RequestEvent& event, const Shown& shown) {
  const auto size_of = [&] {
    return answer.text.size() + answer.reasoning.size() * (call.reasoning.has_both_names ? 2 : 1) +
           (answer.logprobs ? answer.logprobs->held_bytes() : 0);
  };
  // The text of add_prompt() is counted with the first event, since nothing of this answer was counted before.
  const std::size_t size_before = answer.began ? size_of() : 0;
  if (!std::exchange(answer.began, true) && call.echo) answer.text = prompt_of(index).text;
  if (answer.logprobs) answer.logprobs->add(event);
  answer.text += shown.content;
  answer.reasoning += shown.reasoning;
  held_bytes += size_of() - size_before;
}

JsonWriter CompletionResponse::State::begin_chunk(std::size_t index, std::string& out) const {
  out += head;
  return JsonWriter(out).begin_object().fields("index", index);
}

void CompletionResponse::State::end_choice(std::size_t index, std::string_view finish, JsonWriter json) const {
  json.key("finish_reason");
  if (finish.empty()) {
    json.value(nullptr);
  } else {
    json.value(finish);
    write_stop_reason(answers[index], json);
  }
  json.end_object().end_array();
  if (call.continuous_usage) {  // the usage of this choice alone, as vLLM counts
    const std::size_t num_prompt = prompt_of(index).num_tokens, num_tokens = answers[index].num_tokens;
    json.key("usage").object("prompt_tokens", num_prompt, "completion_tokens", num_tokens, "total_tokens",
                             num_prompt + num_tokens);
  } else if (call.include_usage) {
    json.fields("usage", nullptr);
  }
}

/// Ends the last chunk of a choice, with the timings of that choice.
void CompletionResponse::State::end_last_chunk(std::size_t index, const RequestStats& stats, std::string& out) const {
  end_choice(index, finish_of(answers[index]), JsonWriter(out));
  LlamaTimings own;
  own.add(stats, true);
  own.write(JsonWriter(out));
  out += "}\n\n";
}

void CompletionResponse::State::write_logprobs(Answer& answer, JsonWriter json) const {
  json.key("logprobs");
  if (answer.logprobs && !answer.logprobs->empty()) {
    answer.logprobs->take(json);
  } else {
    json.value(nullptr);
  }
}

/// Writes stop_reason, vLLM's extension: the stop text that the answer ended at.
void CompletionResponse::State::write_stop_reason(const Answer& answer, JsonWriter json) const {
  const std::string_view text = call.stop_text(answer.stop_text);
  if (answer.finish == FinishReason::kStop && !text.empty()) json.fields("stop_reason", text);
}

void CompletionResponse::State::write_delta(const Answer& answer, const Shown& shown, JsonWriter json) const {
  json.key("delta").begin_object();
  write_reasoning(shown.reasoning, json);
  if (!shown.content.empty() || (shown.reasoning.empty() && shown.calls.empty())) json.fields("content", shown.content);
  if (!shown.calls.empty()) answer.calls->write_deltas(shown.calls, json);
  json.end_object();
}

void CompletionResponse::State::write_reasoning(std::string_view reasoning, JsonWriter json) const {
  if (reasoning.empty()) return;
  json.fields("reasoning_content", reasoning);
  if (call.reasoning.has_both_names) json.fields("reasoning", reasoning);
}

void CompletionResponse::State::write_prompt_ids(std::size_t index, JsonWriter json) const {
  if (call.return_token_ids) json.fields("prompt_token_ids", prompt_of(index).tokens);
}

void CompletionResponse::State::write_token_ids(Answer& answer, JsonWriter json) const {
  if (!call.return_token_ids) return;
  json.fields("token_ids", answer.tokens);
  answer.tokens.clear();
}

// Streams an event, unless it shows nothing because its text waits: for the rest of a character, or for what may become
// a stop text.
void CompletionResponse::State::stream(std::size_t index, Answer& answer, const RequestEvent& event, const Shown& shown,
                                       std::string& out) {
  if (!std::exchange(answer.began, true)) begin_stream(index, answer, out);
  if (answer.logprobs) answer.logprobs->add(event);
  const bool ended = event.finish != FinishReason::kNone;
  const bool has_logprobs = answer.logprobs && !answer.logprobs->empty();
  const bool shows = !shown.content.empty() || !shown.reasoning.empty() || !shown.calls.empty() || has_logprobs;
  // A chat's answer ends with a chunk of its own, with an empty delta; a completion's last chunk may have text.
  if (shows || (ended && !call.is_chat)) {
    JsonWriter json = begin_chunk(index, out);
    if (call.is_chat) {
      write_delta(answer, shown, json);
    } else {
      json.fields("text", shown.content);
    }
    write_logprobs(answer, json);
    // The ids of the token that ends an answer stand in its last chunk: who has them has all of it.
    if (!ended || !call.is_chat) write_token_ids(answer, json);
    if (ended && !call.is_chat) {
      end_last_chunk(index, event.stats, out);
    } else {
      end_choice(index, {}, json);
      out += "}\n\n";
    }
  }
  if (!ended || !call.is_chat) return;
  const JsonWriter last = begin_chunk(index, out).raw(R"("delta":{},"logprobs":null)");
  write_token_ids(answer, last);
  end_last_chunk(index, event.stats, out);
}

// Writes the chunk before all text: in a chat it has the role, in a completion the echoed prompt.
void CompletionResponse::State::begin_stream(std::size_t index, Answer& answer, std::string& out) {
  if (!call.is_chat && !call.echo && !call.return_token_ids && (call.warnings.empty() || warnings_sent)) return;
  JsonWriter json = begin_chunk(index, out);
  if (call.is_chat) {
    json.raw(R"("delta":{"role":"assistant","content":""},"logprobs":null)");
  } else {
    json.fields("text", prompt_of(index).text);
    write_logprobs(answer, json);
    write_prompt_ids(index, json);
  }
  // Once in a stream, warnings stand beside the choices; in a chat, the prompt's ids too.
  end_choice(index, {}, json);
  if (call.is_chat && !std::exchange(prompt_ids_sent, true)) write_prompt_ids(0, json);
  if (!std::exchange(warnings_sent, true)) write_warnings(call.warnings, json);
  out += "}\n\n";
}

std::string CompletionResponse::State::usage_chunk() const {
  std::string out = head;
  usage.write(JsonWriter(out).end_array());
  out += "}\n\n";
  return out;
}

void CompletionResponse::State::write_choice(std::size_t index, JsonWriter json) {
  Answer& answer = answers[index];
  json.begin_object().fields("index", index);
  if (call.is_chat) {
    json.key("message").begin_object().fields("role", "assistant");
    write_reasoning(answer.reasoning, json);
    write_content(answer.text, answer.calls.get(), json);
    json.end_object();
  } else {
    json.fields("text", answer.text);
  }
  write_logprobs(answer, json);
  if (!call.is_chat) write_prompt_ids(index, json);
  write_token_ids(answer, json);
  if (!prompt_logprobs.empty()) json.fields("prompt_logprobs", JsonText{prompt_logprobs[index / to_size(call.n)]});
  json.fields("finish_reason", finish_of(answer));
  write_stop_reason(answer, json);
  json.end_object();
}

std::string CompletionResponse::State::body() {
  std::string out = head;
  out.reserve(held_bytes + held_bytes / 8);  // the answers, and room for escapes and for what stands around each choice
  JsonWriter json(out);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    write_choice(i, json);
    answers[i].logprobs.reset();  // they are written and need not be held any longer
    answers[i].calls.reset();
    std::string().swap(answers[i].text);
    std::string().swap(answers[i].reasoning);
  }
  json.end_array();
  usage.write(json);
  timings.write(json);
  if (call.is_chat) write_prompt_ids(0, json);
  write_warnings(call.warnings, json);
  json.end_object();
  return out;
}

}  // namespace octavo
