#include "api/ollama/ollama_answer.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include "api/answers/iso_time.h"
#include "api/call/context_full.h"
#include "api/call/json_writer.h"

namespace octavo {
namespace {

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

std::string call_text(const AnswerBlocks::Block& block) {
  std::string out = "{\"function\":{";
  append_json_field(out, "name", block.name);
  out += ",\"arguments\":";
  out += block.arguments();
  out += "}}";
  return out;
}

}  // namespace

std::string ollama_error_body(const ApiError& error) {
  std::string out = "{";
  append_json_field(out, "error", ollama_message(error));
  out += '}';
  return out;
}

std::string ollama_unloaded(std::string_view model, bool is_chat, std::span<const std::string> warnings) {
  std::string out = "{";
  append_json_field(out, "model", model);
  out += ',';
  append_json_field(out, "created_at", iso_time(std::chrono::system_clock::now()));
  out += is_chat ? R"(,"message":{"role":"assistant","content":""})" : R"(,"response":"")";
  out += R"(,"done":true,"done_reason":"unload")";
  append_warnings(out, warnings);
  out += '}';
  return out;
}

OllamaAnswer::OllamaAnswer(const CompletionCall& call, std::string id, std::string model,
                           std::shared_ptr<const ModelText> words, bool is_chat)
    : AnswerBlocks(call, std::move(id), std::move(words)), model_(std::move(model)), is_chat_(is_chat) {}

std::string OllamaAnswer::heartbeat(std::string_view) const {
  std::string out;
  append_object({}, false, out);
  return out + '\n';
}

void OllamaAnswer::append_object(const Parts& parts, bool is_done, std::string& out) const {
  out += '{';
  append_json_field(out, "model", model_);
  out += ',';
  append_json_field(out, "created_at", iso_time(std::chrono::system_clock::now()));
  out += is_chat_ ? ",\"message\":{\"role\":\"assistant\"," : ",";
  append_json_field(out, is_chat_ ? "content" : "response", parts.content);
  if (!parts.thinking.empty()) {
    out += ',';
    append_json_field(out, "thinking", parts.thinking);
  }
  if (!parts.calls.empty()) {
    out += ",\"tool_calls\":[";
    out += parts.calls;
    out += ']';
  }
  if (is_chat_) out += '}';
  if (!parts.logprobs.empty()) {
    out += ",\"logprobs\":[";
    out += parts.logprobs;
    out += ']';
  }
  out += is_done ? ",\"done\":true" : ",\"done\":false";
  if (is_done) append_end(out);
  out += '}';
}

void OllamaAnswer::append_end(std::string& out) const {
  out += ',';
  append_json_field(out, "done_reason",
                    call().prompts.empty()                   ? "load"
                    : finish_reason() == FinishReason::kStop ? "stop"
                                                             : "length");
  const double answer_s = stats().total_s - stats().time_to_first_token_s;
  fmt::format_to(std::back_inserter(out),
                 ",\"total_duration\":{},\"load_duration\":0,\"prompt_eval_count\":{},\"prompt_eval_duration\":{},"
                 "\"eval_count\":{},\"eval_duration\":{}",
                 nanoseconds(stats().total_s), stats().prompt_tokens, nanoseconds(stats().time_to_first_token_s),
                 stats().generated_tokens, nanoseconds(answer_s));
  append_warnings(out, call().warnings);
}

void OllamaAnswer::write_delta(const Block& block, std::size_t, std::string_view delta, std::string& out) {
  if (block.kind == Block::Kind::kCall) return;
  const bool is_reasoning = block.kind == Block::Kind::kReasoning;
  append_object(is_reasoning ? Parts{.thinking = delta} : Parts{.content = delta, .logprobs = delta_logprobs()}, false,
                out);
  out += '\n';
}

void OllamaAnswer::end_block(const Block& block, std::size_t, std::string& out) {
  if (block.kind != Block::Kind::kCall) return;
  append_object({.calls = call_text(block)}, false, out);
  out += '\n';
}

void OllamaAnswer::write_end(std::string& out) {
  append_object({}, true, out);
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
        if (!logprobs.empty() && !block.logprobs.empty()) logprobs += ',';
        logprobs += block.logprobs;
        break;
      case Block::Kind::kReasoning: thinking += block.text; break;
      case Block::Kind::kCall:
        if (!parts.calls.empty()) parts.calls += ',';
        parts.calls += call_text(block);
        break;
    }
  }
  parts.content = content;
  parts.thinking = thinking;
  parts.logprobs = logprobs;
  std::string out;
  append_object(parts, true, out);
  return out;
}

}  // namespace octavo
