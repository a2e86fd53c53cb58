#include "api/responses/responses_answer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/answers/typed_events.h"
#include "api/call/json_writer.h"

namespace octavo {
namespace {

using Block = AnswerBlocks::Block;

std::string_view kind_of(const Block& block) {
  switch (block.kind) {
    case Block::Kind::kText: return "msg";
    case Block::Kind::kReasoning: return "rs";
    case Block::Kind::kCall: break;
  }
  return block.is_custom() ? "ctc" : "fc";
}

void append_logprobs(std::string_view logprobs, std::string& out) {
  out += ",\"logprobs\":[";
  out += logprobs;
  out += ']';
}

/// The content part of a message or of reasoning. `is_begun`: its text is still to come.
void append_part(const Block& block, bool is_begun, std::string& out) {
  const std::string_view text = is_begun ? std::string_view() : block.text;
  if (block.kind == Block::Kind::kText) {
    out += R"({"type":"output_text",)";
    append_json_field(out, "text", text);
    out += R"(,"annotations":[])";
    append_logprobs(is_begun ? std::string_view() : block.logprobs, out);
    out += '}';
  } else {
    out += R"({"type":"reasoning_text",)";
    append_json_field(out, "text", text);
    out += '}';
  }
}

/// The members of a call that its kind has.
void append_called(const Block& block, bool is_begun, std::string& out) {
  out += block.is_custom() ? R"(,"type":"custom_tool_call",)" : R"(,"type":"function_call",)";
  append_json_field(out, "call_id", block.id);
  out += ',';
  append_json_field(out, "name", block.name);
  if (block.tool != nullptr && !block.tool->space.empty()) {
    out += ',';
    append_json_field(out, "namespace", block.tool->space);
  }
  out += ',';
  append_json_field(out, block.is_custom() ? "input" : "arguments", is_begun ? std::string_view() : block.text);
}

std::string_view error_code(const ApiError& error) {
  if (error.code == kContextFullCode) return kContextFullCode;
  return error.status == 429 ? "rate_limit_exceeded" : "server_error";
}

/// The member `error` of a response; null: it has none.
void append_error(const ApiError* error, std::string& out) {
  out += ",\"error\":";
  if (error == nullptr) {
    out += "null";
    return;
  }
  out += '{';
  append_json_field(out, "code", error_code(*error));
  out += ',';
  append_json_field(out, "message", error->message);
  out += '}';
}

}  // namespace

ResponsesAnswer::ResponsesAnswer(const CompletionCall& call, std::shared_ptr<const ModelText> words, std::string model,
                                 std::int64_t created)
    : AnswerBlocks(call, call.response->id, std::move(words)),
      response_(*call.response),
      model_(std::move(model)),
      created_(created) {
  std::size_t num_bytes = response_.echo.size();
  for (const ResponseItem& item : response_.input) num_bytes += item.json->size();
  hold(num_bytes);
}

std::string ResponsesAnswer::item_id(const Block& block, std::size_t index) const {
  return response_item_id(kind_of(block), id(), std::to_string(index));
}

/// `is_begun`: its text is still to come.
void ResponsesAnswer::append_item(const Block& block, std::size_t index, bool is_begun, std::string& out) const {
  out += '{';
  append_json_field(out, "id", item_id(block, index));
  out += ',';
  append_json_field(out, "status", is_begun ? "in_progress" : block.is_cut ? "incomplete" : "completed");
  switch (block.kind) {
    case Block::Kind::kText: out += R"(,"type":"message","role":"assistant","content":[)"; break;
    case Block::Kind::kReasoning:
      out += R"(,"type":"reasoning","summary":[],"encrypted_content":null,"content":[)";
      break;
    case Block::Kind::kCall:
      append_called(block, is_begun, out);
      out += '}';
      return;
  }
  if (!is_begun) append_part(block, false, out);
  out += "]}";
}

void ResponsesAnswer::append_status(Status status, const ApiError* error, std::string& out) const {
  switch (status) {
    case Status::kInProgress: out += R"(,"status":"in_progress","incomplete_details":null)"; break;
    case Status::kCompleted: out += R"(,"status":"completed","incomplete_details":null)"; break;
    case Status::kIncomplete:
      out += R"(,"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"})";
      break;
    case Status::kFailed: out += R"(,"status":"failed","incomplete_details":null)"; break;
  }
  append_error(error, out);
}

void ResponsesAnswer::append_head(Status status, const ApiError* error, std::string& out) const {
  out += '{';
  append_json_field(out, "id", id());
  fmt::format_to(std::back_inserter(out), ",\"object\":\"response\",\"created_at\":{},", created_);
  append_json_field(out, "model", model_);
  append_status(status, error, out);
  out += response_.echo;
  out += ",\"output\":[";
}

void ResponsesAnswer::append_tail(Status status, std::string& out) const {
  out += "],\"usage\":";
  if (status == Status::kCompleted || status == Status::kIncomplete) {
    const RequestStats& used = stats();
    fmt::format_to(std::back_inserter(out),
                   "{{\"input_tokens\":{},\"input_tokens_details\":{{\"cached_tokens\":{}}},\"output_tokens\":{},"
                   "\"output_tokens_details\":{{\"reasoning_tokens\":{}}},\"total_tokens\":{}}}",
                   used.prompt_tokens, used.cached_tokens, used.generated_tokens, used.reasoning_tokens,
                   used.prompt_tokens + used.generated_tokens);
  } else {
    out += "null";
  }
  append_warnings(out, call().warnings);
  out += '}';
}

ResponsesAnswer::Status ResponsesAnswer::end_status() const {
  return finish_reason() == FinishReason::kStop ? Status::kCompleted : Status::kIncomplete;
}

StoredResponse ResponsesAnswer::complete() const {
  StoredResponse response{.id = id(), .previous_id = response_.previous_id};
  append_head(end_status(), nullptr, response.head);
  for (std::size_t i = 0; i < blocks().size(); ++i) {
    std::string json;
    append_item(blocks()[i], i, false, json);
    response.output.push_back(
        {.id = item_id(blocks()[i], i), .json = std::make_shared<const std::string>(std::move(json))});
  }
  append_tail(end_status(), response.tail);
  return response;
}

std::string ResponsesAnswer::body() {
  StoredResponse response = complete();
  std::string whole = response.body();
  if (response_.kept.store == nullptr) return whole;
  response.input = response_.input;
  response_.kept.store->put(response_.kept.owner, std::move(response), response_.kept.client);
  return whole;
}

void ResponsesAnswer::begin_event(std::string& out, std::string_view name) {
  begin_typed_event(out, name);
  fmt::format_to(std::back_inserter(out), ",\"sequence_number\":{}", sequence_number_++);
}

void ResponsesAnswer::begin_block_event(std::string& out, std::string_view name, const Block& block,
                                        std::size_t index) {
  begin_event(out, name);
  out += ',';
  append_json_field(out, "item_id", item_id(block, index));
  fmt::format_to(std::back_inserter(out), ",\"output_index\":{}", index);
}

void ResponsesAnswer::begin_part_event(std::string& out, std::string_view name, const Block& block, std::size_t index) {
  begin_block_event(out, name, block, index);
  out += ",\"content_index\":0";
}

void ResponsesAnswer::write_whole(std::string_view event, Status status, const ApiError* error, std::string& out) {
  begin_event(out, event);
  out += ",\"response\":";
  append_head(status, error, out);
  append_tail(status, out);
  end_typed_event(out);
}

void ResponsesAnswer::write_begin(std::string& out) {
  write_whole("response.created", Status::kInProgress, nullptr, out);
  write_whole("response.in_progress", Status::kInProgress, nullptr, out);
}

void ResponsesAnswer::begin_block(const Block& block, std::size_t index, std::string& out) {
  begin_event(out, "response.output_item.added");
  fmt::format_to(std::back_inserter(out), ",\"output_index\":{},\"item\":", index);
  append_item(block, index, true, out);
  end_typed_event(out);
  if (block.kind == Block::Kind::kCall) return;
  begin_part_event(out, "response.content_part.added", block, index);
  out += ",\"part\":";
  append_part(block, true, out);
  end_typed_event(out);
}

void ResponsesAnswer::write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) {
  if (block.kind == Block::Kind::kCall) {
    begin_block_event(
        out, block.is_custom() ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta",
        block, index);
  } else {
    const bool is_text = block.kind == Block::Kind::kText;
    begin_part_event(out, is_text ? "response.output_text.delta" : "response.reasoning_text.delta", block, index);
    if (is_text) append_logprobs(delta_logprobs(), out);
  }
  out += ',';
  append_json_field(out, "delta", delta);
  end_typed_event(out);
}

void ResponsesAnswer::end_block(const Block& block, std::size_t index, std::string& out) {
  if (block.kind == Block::Kind::kCall && block.is_custom()) {
    begin_block_event(out, "response.custom_tool_call_input.done", block, index);
    out += ',';
    append_json_field(out, "input", block.text);
    end_typed_event(out);
  } else if (block.kind == Block::Kind::kCall) {
    begin_block_event(out, "response.function_call_arguments.done", block, index);
    out += ',';
    append_json_field(out, "name", block.name);
    out += ',';
    append_json_field(out, "arguments", block.text);
    end_typed_event(out);
  } else {
    const bool is_text = block.kind == Block::Kind::kText;
    begin_part_event(out, is_text ? "response.output_text.done" : "response.reasoning_text.done", block, index);
    if (is_text) append_logprobs(block.logprobs, out);
    out += ',';
    append_json_field(out, "text", block.text);
    end_typed_event(out);
    begin_part_event(out, "response.content_part.done", block, index);
    out += ",\"part\":";
    append_part(block, false, out);
    end_typed_event(out);
  }
  begin_event(out, "response.output_item.done");
  fmt::format_to(std::back_inserter(out), ",\"output_index\":{},\"item\":", index);
  append_item(block, index, false, out);
  end_typed_event(out);
}

void ResponsesAnswer::write_end(std::string& out) {
  begin_event(out, end_status() == Status::kCompleted ? "response.completed" : "response.incomplete");
  out += ",\"response\":";
  out += body();
  end_typed_event(out);
}

void ResponsesAnswer::write_error(const ApiError& error, std::string& out) {
  write_whole("response.failed", Status::kFailed, &error, out);
}

// Its members that repeat the request are those of one that says nothing.
std::string refused_response_stream(const ApiError& error, std::string_view model, std::string_view id,
                                    std::int64_t created) {
  std::string out;
  int sequence_number = 0;
  for (const std::string_view event : {"response.created", "response.in_progress", "response.failed"}) {
    const bool has_failed = event == "response.failed";
    begin_typed_event(out, event);
    fmt::format_to(std::back_inserter(out),
                   R"(,"sequence_number":{},"response":{{"id":"resp_{}","object":"response","created_at":{},)",
                   sequence_number++, id, created);
    append_json_field(out, "model", model);
    out += ',';
    append_json_field(out, "status", has_failed ? "failed" : "in_progress");
    append_error(has_failed ? &error : nullptr, out);
    out += R"(,"incomplete_details":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,)"
           R"("tool_choice":"auto","tools":[],"output":[],"usage":null})";
    end_typed_event(out);
  }
  return out;
}

}  // namespace octavo
