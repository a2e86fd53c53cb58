#include "api/messages/messages_answer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/answers/typed_events.h"
#include "api/call/context_full.h"
#include "api/call/json_writer.h"

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

/// A block with what it holds: nothing yet, where it begins in a stream.
void append_block(const Block& block, std::string& out) {
  switch (block.kind) {
    case Block::Kind::kText:
      out += "{\"type\":\"text\",";
      append_json_field(out, "text", block.text);
      break;
    case Block::Kind::kReasoning:
      out += "{\"type\":\"thinking\",";
      append_json_field(out, "thinking", block.text);
      out += ",\"signature\":\"\"";  // nobody needs to trust it: what comes back is read as text
      break;
    case Block::Kind::kCall:
      out += "{\"type\":\"tool_use\",";
      append_json_field(out, "id", block.id);
      out += ',';
      append_json_field(out, "name", block.name);
      out += ",\"input\":";
      out += block.arguments();
      break;
  }
  out += '}';
}

}  // namespace

std::string messages_error_body(const ApiError& error) {
  std::string out = "{\"type\":\"error\",\"error\":{";
  append_json_field(out, "type", error_type(error.status));
  out += ',';
  append_json_field(out, "message", anthropic_message(error));
  out += "}}";
  return out;
}

MessagesAnswer::MessagesAnswer(const CompletionCall& call, std::string id, std::string model)
    : AnswerBlocks(call, std::move(id)), model_(std::move(model)) {}

std::string MessagesAnswer::heartbeat(std::string_view) const { return "event: ping\ndata: {\"type\":\"ping\"}\n\n"; }

void MessagesAnswer::append_head(std::string& out) const {
  append_json_field(out, "id", id());
  out += ",\"type\":\"message\",\"role\":\"assistant\",";
  append_json_field(out, "model", model_);
}

void MessagesAnswer::append_stop(std::string& out) const {
  const bool is_cut = finish_reason() != FinishReason::kStop;
  const std::string_view text = is_cut ? std::string_view() : stop_text();
  append_json_field(out, "stop_reason",
                    is_cut          ? "max_tokens"
                    : !text.empty() ? "stop_sequence"
                    : calls_tools() ? "tool_use"
                                    : "end_turn");
  out += ',';
  if (text.empty()) {
    out += "\"stop_sequence\":null";
  } else {
    append_json_field(out, "stop_sequence", text);
  }
}

// Tokens that were found cached are counted apart from the others of the prompt.
void MessagesAnswer::append_usage(std::string& out) const {
  fmt::format_to(std::back_inserter(out),
                 "\"usage\":{{\"input_tokens\":{},\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":{},"
                 "\"output_tokens\":{}}}",
                 stats().prompt_tokens - stats().cached_tokens, stats().cached_tokens, stats().generated_tokens);
}

// How much of the prompt is cached is not known yet; the last event tells.
void MessagesAnswer::write_begin(std::string& out) {
  begin_typed_event(out, "message_start");
  out += ",\"message\":{";
  append_head(out);
  fmt::format_to(std::back_inserter(out),
                 ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":{},"
                 "\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":0}}",
                 call().prompts.front().num_tokens);
  append_warnings(out, call().warnings);
  out += '}';
  end_typed_event(out);
}

void MessagesAnswer::begin_block(const Block& block, std::size_t index, std::string& out) {
  begin_typed_event(out, "content_block_start");
  fmt::format_to(std::back_inserter(out), ",\"index\":{},\"content_block\":", index);
  append_block(block, out);
  end_typed_event(out);
}

void MessagesAnswer::write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) {
  begin_typed_event(out, "content_block_delta");
  fmt::format_to(std::back_inserter(out), ",\"index\":{},\"delta\":{{", index);
  switch (block.kind) {
    case Block::Kind::kText:
      out += "\"type\":\"text_delta\",";
      append_json_field(out, "text", delta);
      break;
    case Block::Kind::kReasoning:
      out += "\"type\":\"thinking_delta\",";
      append_json_field(out, "thinking", delta);
      break;
    case Block::Kind::kCall:
      out += "\"type\":\"input_json_delta\",";
      append_json_field(out, "partial_json", delta);
      break;
  }
  out += '}';
  end_typed_event(out);
}

void MessagesAnswer::end_block(const Block&, std::size_t index, std::string& out) {
  begin_typed_event(out, "content_block_stop");
  fmt::format_to(std::back_inserter(out), ",\"index\":{}", index);
  end_typed_event(out);
}

void MessagesAnswer::write_end(std::string& out) {
  begin_typed_event(out, "message_delta");
  out += ",\"delta\":{";
  append_stop(out);
  out += "},";
  append_usage(out);
  end_typed_event(out);
  begin_typed_event(out, "message_stop");
  end_typed_event(out);
}

void MessagesAnswer::write_error(const ApiError& error, std::string& out) {
  out += "event: error\ndata: " + messages_error_body(error) + "\n\n";
}

std::string MessagesAnswer::body() {
  std::string out = "{";
  append_head(out);
  out += ",\"content\":[";
  for (const Block& block : blocks()) {
    if (out.back() != '[') out += ',';
    append_block(block, out);
  }
  out += "],";
  append_stop(out);
  out += ',';
  append_usage(out);
  append_warnings(out, call().warnings);
  out += '}';
  return out;
}

}  // namespace octavo
