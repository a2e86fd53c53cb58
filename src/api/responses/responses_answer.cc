#include "api/responses/responses_answer.h"

#include <fmt/format.h>

#include <utility>

#include "api/answers/answer_origin.h"
#include "api/answers/typed_events.h"

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

/// Writes a content part of a message or of reasoning. `is_begun`: its text is still to come.
void write_part(const Block& block, bool is_begun, JsonWriter json) {
  const std::string_view text = is_begun ? std::string_view() : block.text;
  if (block.kind == Block::Kind::kText) {
    json.object("type", "output_text", "text", text, "annotations", JsonElements(), "logprobs",
                JsonElements{is_begun ? std::string_view() : block.logprobs});
  } else {
    json.object("type", "reasoning_text", "text", text);
  }
}

/// Writes the members of a call that are its kind's own.
void write_called(const Block& block, bool is_begun, JsonWriter json) {
  json.fields("type", block.is_custom() ? "custom_tool_call" : "function_call", "call_id", block.id, "name",
              block.name);
  if (block.tool != nullptr && !block.tool->space.empty()) json.fields("namespace", block.tool->space);
  json.fields(block.is_custom() ? "input" : "arguments", is_begun ? std::string_view() : block.text);
}

std::string_view error_code(const ApiError& error) {
  if (error.code == kContextFullCode) return kContextFullCode;
  return error.status == 429 ? "rate_limit_exceeded" : "server_error";
}

/// Writes the member `error` of a response; null: it has none.
void write_error_member(const ApiError* error, JsonWriter json) {
  json.key("error");
  if (error == nullptr) {
    json.value(nullptr);
  } else {
    json.object("code", error_code(*error), "message", error->message);
  }
}

}  // namespace

ResponsesAnswer::ResponsesAnswer(const CompletionCall& call, std::shared_ptr<const ModelText> words,
                                 const ServedModel& model, std::int64_t created)
    : AnswerBlocks(call, call.response->id, std::move(words)),
      response_(*call.response),
      model_(model.id),
      created_(created) {
  std::size_t num_bytes = response_.echo.size();
  for (const ResponseItem& item : response_.input) num_bytes += item.json->size();
  hold(num_bytes);
  write_origin(call, model, JsonWriter(origin_));
}

std::string ResponsesAnswer::item_id(const Block& block, std::size_t index) const {
  return response_item_id(kind_of(block), id(), std::to_string(index));
}

/// Writes an item. `is_begun`: its text is still to come.
void ResponsesAnswer::write_item(const Block& block, std::size_t index, bool is_begun, JsonWriter json) const {
  json.begin_object().fields("id", item_id(block, index), "status",
                             is_begun       ? "in_progress"
                             : block.is_cut ? "incomplete"
                                            : "completed");
  if (block.kind == Block::Kind::kCall) {
    write_called(block, is_begun, json);
    json.end_object();
    return;
  }
  if (block.kind == Block::Kind::kText) {
    json.fields("type", "message", "role", "assistant");
  } else {
    json.fields("type", "reasoning", "summary", JsonElements(), "encrypted_content", nullptr);
  }
  json.key("content").begin_array();
  if (!is_begun) write_part(block, false, json);
  json.end_array().end_object();
}

void ResponsesAnswer::write_head(Status status, const ApiError* error, JsonWriter json) const {
  static constexpr std::string_view kNames[] = {"in_progress", "completed", "incomplete", "failed"};
  json.begin_object().fields("id", id(), "object", "response", "created_at", created_, "model", model_, "status",
                             kNames[std::to_underlying(status)], "incomplete_details",
                             JsonText{status == Status::kIncomplete ? R"({"reason":"max_output_tokens"})" : "null"});
  write_error_member(error, json);
  json.raw(origin_).raw(response_.echo).key("output").begin_array();
}

void ResponsesAnswer::write_tail(Status status, JsonWriter json) const {
  json.end_array().key("usage");
  if (status == Status::kCompleted || status == Status::kIncomplete) {
    const RequestStats& used = stats();
    json.begin_object().fields("input_tokens", used.prompt_tokens);
    json.key("input_tokens_details").begin_object().fields("cached_tokens", used.cached_tokens);
    const std::int64_t image_tokens = call().prompts.front().num_image_tokens;
    if (image_tokens > 0) json.fields("image_tokens", image_tokens);
    json.end_object();
    json.fields("output_tokens", used.generated_tokens);
    json.key("output_tokens_details").object("reasoning_tokens", used.reasoning_tokens);
    json.fields("total_tokens", used.prompt_tokens + used.generated_tokens).end_object();
  } else {
    json.value(nullptr);
  }
  if (call().return_token_ids && !call().stream) json.fields("token_ids", tokens());
  write_warnings(call().warnings, json);
  json.end_object();
}

ResponsesAnswer::Status ResponsesAnswer::end_status() const {
  return finish_reason() == FinishReason::kStop ? Status::kCompleted : Status::kIncomplete;
}

StoredResponse ResponsesAnswer::complete() const {
  StoredResponse response{.id = id(), .previous_id = response_.previous_id};
  write_head(end_status(), nullptr, JsonWriter(response.head));
  for (std::size_t i = 0; i < blocks().size(); ++i) {
    std::string json;
    write_item(blocks()[i], i, false, JsonWriter(json));
    response.output.push_back(
        {.id = item_id(blocks()[i], i), .json = std::make_shared<const std::string>(std::move(json))});
  }
  write_tail(end_status(), JsonWriter(response.tail));
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

JsonWriter ResponsesAnswer::begin_event(std::string& out, std::string_view name) {
  return begin_typed_event(out, name).fields("sequence_number", sequence_number_++);
}

JsonWriter ResponsesAnswer::begin_block_event(std::string& out, std::string_view name, const Block& block,
                                              std::size_t index) {
  return begin_event(out, name).fields("item_id", item_id(block, index), "output_index", index);
}

JsonWriter ResponsesAnswer::begin_part_event(std::string& out, std::string_view name, const Block& block,
                                             std::size_t index) {
  return begin_block_event(out, name, block, index).fields("content_index", 0);
}

void ResponsesAnswer::write_whole(std::string_view event, Status status, const ApiError* error, std::string& out) {
  const JsonWriter json = begin_event(out, event).key("response");
  write_head(status, error, json);
  write_tail(status, json);
  end_typed_event(out);
}

void ResponsesAnswer::write_begin(std::string& out) {
  write_whole("response.created", Status::kInProgress, nullptr, out);
  write_whole("response.in_progress", Status::kInProgress, nullptr, out);
}

void ResponsesAnswer::begin_block(const Block& block, std::size_t index, std::string& out) {
  write_item(block, index, true,
             begin_event(out, "response.output_item.added").fields("output_index", index).key("item"));
  end_typed_event(out);
  if (block.kind == Block::Kind::kCall) return;
  write_part(block, true, begin_part_event(out, "response.content_part.added", block, index).key("part"));
  end_typed_event(out);
}

void ResponsesAnswer::write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) {
  switch (block.kind) {
    case Block::Kind::kText:
      begin_part_event(out, "response.output_text.delta", block, index)
          .fields("logprobs", JsonElements{delta_logprobs()}, "delta", delta);
      break;
    case Block::Kind::kReasoning:
      begin_part_event(out, "response.reasoning_text.delta", block, index).fields("delta", delta);
      break;
    case Block::Kind::kCall:
      begin_block_event(
          out, block.is_custom() ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta",
          block, index)
          .fields("delta", delta);
      break;
  }
  end_typed_event(out);
}

void ResponsesAnswer::end_block(const Block& block, std::size_t index, std::string& out) {
  switch (block.kind) {
    case Block::Kind::kText:
      begin_part_event(out, "response.output_text.done", block, index)
          .fields("logprobs", JsonElements{block.logprobs}, "text", block.text);
      break;
    case Block::Kind::kReasoning:
      begin_part_event(out, "response.reasoning_text.done", block, index).fields("text", block.text);
      break;
    case Block::Kind::kCall:
      if (block.is_custom()) {
        begin_block_event(out, "response.custom_tool_call_input.done", block, index).fields("input", block.text);
      } else {
        begin_block_event(out, "response.function_call_arguments.done", block, index)
            .fields("name", block.name, "arguments", block.text);
      }
      break;
  }
  end_typed_event(out);
  if (block.kind != Block::Kind::kCall) {
    write_part(block, false, begin_part_event(out, "response.content_part.done", block, index).key("part"));
    end_typed_event(out);
  }
  write_item(block, index, false,
             begin_event(out, "response.output_item.done").fields("output_index", index).key("item"));
  end_typed_event(out);
}

void ResponsesAnswer::write_end(std::string& out) {
  const bool is_complete = end_status() == Status::kCompleted;
  begin_event(out, is_complete ? "response.completed" : "response.incomplete").key("response").raw(body());
  end_typed_event(out);
}

void ResponsesAnswer::write_error(const ApiError& error, std::string& out) {
  write_whole("response.failed", Status::kFailed, &error, out);
}

// The members that repeat a request are here those of a request that leaves them all out.
std::string refused_response_stream(const ApiError& error, std::string_view model, std::string_view id,
                                    std::int64_t created) {
  std::string out;
  int sequence_number = 0;
  for (const std::string_view event : {"response.created", "response.in_progress", "response.failed"}) {
    const bool has_failed = event == "response.failed";
    JsonWriter json = begin_typed_event(out, event).fields("sequence_number", sequence_number++);
    json.key("response")
        .begin_object()
        .fields("id", fmt::format("resp_{}", id), "object", "response", "created_at", created, "model", model, "status",
                has_failed ? "failed" : "in_progress");
    write_error_member(has_failed ? &error : nullptr, json);
    json.raw(R"("incomplete_details":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,)"
             R"("tool_choice":"auto","tools":[],"output":[],"usage":null)");
    json.end_object();
    end_typed_event(out);
  }
  return out;
}

}  // namespace octavo
