#include "api/messages/messages_answer.h"

#include <utility>

#include "api/answers/answer_origin.h"
#include "api/answers/typed_events.h"
#include "api/call/context_full.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

using Block = AnswerBlocks::Block;

std::string_view error_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 408: return "timeout_error";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

/// Writes a block with what it holds: nothing yet, where it begins in a stream.
void write_block(const Block& block, JsonWriter json) {
  switch (block.kind) {
    case Block::Kind::kText: json.object("type", "text", "text", block.text); break;
    case Block::Kind::kReasoning:  // nobody checks the signature: thoughts that come back are read as text
      json.object("type", "thinking", "thinking", block.text, "signature", "");
      break;
    case Block::Kind::kCall:
      json.object("type", "tool_use", "id", block.id, "name", block.name, "input", JsonText{block.arguments()});
      break;
  }
}

/// Writes the usage. Cached tokens are counted apart from the other tokens of the prompt.
void write_usage(std::int64_t prompt_tokens, std::int64_t cached_tokens, std::int64_t generated_tokens,
                 JsonWriter json) {
  json.key("usage").object("input_tokens", prompt_tokens - cached_tokens, "cache_creation_input_tokens", 0,
                           "cache_read_input_tokens", cached_tokens, "output_tokens", generated_tokens);
}

}  // namespace

std::string messages_error_body(const ApiError& error) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("type", "error").key("error");
  json.object("type", error_type(error.status), "message", anthropic_message(error)).end_object();
  return out;
}

MessagesAnswer::MessagesAnswer(const CompletionCall& call, std::string id, const ServedModel& model)
    : AnswerBlocks(call, std::move(id)), model_(model.id) {
  write_origin(call, model, JsonWriter(origin_));
}

std::string MessagesAnswer::heartbeat(std::string_view) const { return "event: ping\ndata: {\"type\":\"ping\"}\n\n"; }

void MessagesAnswer::write_head(JsonWriter json) const {
  json.fields("id", id(), "type", "message", "role", "assistant", "model", model_).raw(origin_);
}

void MessagesAnswer::write_stop(JsonWriter json) const {
  const bool is_cut = finish_reason() != FinishReason::kStop;
  const std::string_view text = is_cut ? std::string_view() : stop_text();
  json.fields("stop_reason",
              is_cut          ? "max_tokens"
              : !text.empty() ? "stop_sequence"
              : calls_tools() ? "tool_use"
                              : "end_turn",
              "stop_sequence", text.empty() ? std::nullopt : std::optional(text));
}

// The usage counts no cached tokens here, as their number is not known yet; the last event tells it.
void MessagesAnswer::write_begin(std::string& out) {
  JsonWriter json = begin_typed_event(out, "message_start").key("message").begin_object();
  write_head(json);
  json.fields("content", JsonElements(), "stop_reason", nullptr, "stop_sequence", nullptr);
  write_usage(static_cast<std::int64_t>(call().prompts.front().num_tokens), 0, 0, json);
  write_warnings(call().warnings, json);
  json.end_object();
  end_typed_event(out);
}

void MessagesAnswer::begin_block(const Block& block, std::size_t index, std::string& out) {
  write_block(block, begin_typed_event(out, "content_block_start").fields("index", index).key("content_block"));
  end_typed_event(out);
}

void MessagesAnswer::write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) {
  JsonWriter json = begin_typed_event(out, "content_block_delta").fields("index", index).key("delta");
  switch (block.kind) {
    case Block::Kind::kText: json.object("type", "text_delta", "text", delta); break;
    case Block::Kind::kReasoning: json.object("type", "thinking_delta", "thinking", delta); break;
    case Block::Kind::kCall: json.object("type", "input_json_delta", "partial_json", delta); break;
  }
  end_typed_event(out);
}

void MessagesAnswer::end_block(const Block&, std::size_t index, std::string& out) {
  begin_typed_event(out, "content_block_stop").fields("index", index);
  end_typed_event(out);
}

void MessagesAnswer::write_end(std::string& out) {
  JsonWriter json = begin_typed_event(out, "message_delta").key("delta").begin_object();
  write_stop(json);
  json.end_object();
  write_usage(stats().prompt_tokens, stats().cached_tokens, stats().generated_tokens, json);
  end_typed_event(out);
  begin_typed_event(out, "message_stop");
  end_typed_event(out);
}

void MessagesAnswer::write_error(const ApiError& error, std::string& out) {
  out += "event: error\ndata: " + messages_error_body(error) + "\n\n";
}

std::string MessagesAnswer::body() {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_head(json);
  json.key("content").begin_array();
  for (const Block& block : blocks()) write_block(block, json);
  json.end_array();
  write_stop(json);
  write_usage(stats().prompt_tokens, stats().cached_tokens, stats().generated_tokens, json);
  if (call().return_token_ids) json.fields("token_ids", tokens());
  write_warnings(call().warnings, json);
  json.end_object();
  return out;
}

}  // namespace octavo
