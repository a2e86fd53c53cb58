#include "api/ollama/ollama_answer.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "api/answers/iso_time.h"
#include "api/call/context_full.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

void write_call(const AnswerBlocks::Block& block, JsonWriter json) {
  json.begin_object().key("function");
  json.object("name", block.name, "arguments", JsonText{block.arguments()}).end_object();
}

std::string now() { return iso_time(std::chrono::system_clock::now()); }

}  // namespace

std::string ollama_error_body(const ApiError& error) { return json_object("error", ollama_message(error)); }

std::string ollama_unloaded(std::string_view model, bool is_chat, std::span<const std::string> warnings) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("model", model, "created_at", now());
  if (is_chat) {
    json.key("message").object("role", "assistant", "content", "");
  } else {
    json.fields("response", "");
  }
  json.fields("done", true, "done_reason", "unload");
  write_warnings(warnings, json);
  json.end_object();
  return out;
}

OllamaAnswer::OllamaAnswer(const CompletionCall& call, std::string id, std::string model,
                           std::shared_ptr<const ModelText> words, bool is_chat)
    : AnswerBlocks(call, std::move(id), std::move(words)), model_(std::move(model)), is_chat_(is_chat) {}

std::string OllamaAnswer::heartbeat(std::string_view) const {
  std::string out;
  write_object({}, false, out);
  return out + '\n';
}

void OllamaAnswer::write_object(const Parts& parts, bool is_done, std::string& out) const {
  JsonWriter json(out);
  json.begin_object().fields("model", model_, "created_at", now());
  if (is_chat_) json.key("message").begin_object().fields("role", "assistant");
  json.fields(is_chat_ ? "content" : "response", parts.content);
  if (!parts.thinking.empty()) json.fields("thinking", parts.thinking);
  if (!parts.calls.empty()) json.fields("tool_calls", JsonElements{parts.calls});
  if (is_chat_) json.end_object();
  if (!parts.logprobs.empty()) json.fields("logprobs", JsonElements{parts.logprobs});
  json.fields("done", is_done);
  if (is_done) write_done(json);
  json.end_object();
}

void OllamaAnswer::write_done(JsonWriter json) const {
  const double answer_s = stats().total_s - stats().time_to_first_token_s;
  json.fields("done_reason",
              call().prompts.empty()                   ? "load"
              : finish_reason() == FinishReason::kStop ? "stop"
                                                       : "length",
              "total_duration", nanoseconds(stats().total_s), "load_duration", 0, "prompt_eval_count",
              stats().prompt_tokens, "prompt_eval_duration", nanoseconds(stats().time_to_first_token_s), "eval_count",
              stats().generated_tokens, "eval_duration", nanoseconds(answer_s));
  write_warnings(call().warnings, json);
}

void OllamaAnswer::write_delta(const Block& block, std::size_t, std::string_view delta, std::string& out) {
  if (block.kind == Block::Kind::kCall) return;
  const bool is_reasoning = block.kind == Block::Kind::kReasoning;
  write_object(is_reasoning ? Parts{.thinking = delta} : Parts{.content = delta, .logprobs = delta_logprobs()}, false,
               out);
  out += '\n';
}

void OllamaAnswer::end_block(const Block& block, std::size_t, std::string& out) {
  if (block.kind != Block::Kind::kCall) return;
  Parts parts;
  write_call(block, JsonWriter(parts.calls));
  write_object(parts, false, out);
  out += '\n';
}

void OllamaAnswer::write_end(std::string& out) {
  write_object({}, true, out);
  out += '\n';
}

void OllamaAnswer::write_error(const ApiError& error, std::string& out) { out += ollama_error_body(error) + '\n'; }

std::string OllamaAnswer::body() {
  std::string content, thinking, logprobs;
  Parts parts;
  for (const Block& block : blocks()) {
    switch (block.kind) {
      case Block::Kind::kText:
        content += block.text;
        JsonWriter(logprobs).raw(block.logprobs);
        break;
      case Block::Kind::kReasoning: thinking += block.text; break;
      case Block::Kind::kCall: write_call(block, JsonWriter(parts.calls)); break;
    }
  }
  parts.content = content;
  parts.thinking = thinking;
  parts.logprobs = logprobs;
  std::string out;
  write_object(parts, true, out);
  return out;
}

}  // namespace octavo
