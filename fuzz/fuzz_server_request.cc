// Any body as a completion and as a chat. It is refused in words, or becomes requests that the engine may take, and the
// answer to them is JSON whatever the tokens are.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/api.h"
#include "api/call/completion.h"
#include "api/call/prompt_logprobs.h"
#include "api/fake_text.h"
#include "api/openai/openai_chat.h"
#include "api/openai/openai_completion.h"
#include "base/utf8.h"
#include "json/json_document.h"

namespace {

using namespace octavo;

// Small, so that inputs of a few hundred bytes meet them.
constexpr JsonLimits kLimits{
    .max_members = 24, .max_table_members = 40, .max_key_bytes = 30, .max_memory_bytes = 20'000};

void require(bool condition) {
  if (!condition) std::abort();
}

/// Accepted requests keep to the limits.
void check_limits(const boost::json::value& value, std::size_t depth, std::size_t& table_members, std::size_t& bytes) {
  require(depth <= kLimits.max_depth);
  bytes += sizeof value;
  if (const auto* array = value.if_array())
    for (const boost::json::value& element : *array) check_limits(element, depth + 1, table_members, bytes);
  const auto* object = value.if_object();
  if (object == nullptr) return;
  require(object->size() <= kLimits.max_members);
  if (object->size() > 18) table_members += object->size();  // Boost's bound of what it searches without a table
  for (const boost::json::key_value_pair& member : *object) {
    require(member.key().size() <= kLimits.max_key_bytes);
    check_limits(member.value(), depth + 1, table_members, bytes);
  }
}

bool is_json(std::string_view text) {
  boost::system::error_code error;
  boost::json::parse(text, error);
  return !error;
}

void check_events(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find("\n\n");
    require(bytes.starts_with("data: ") && end != std::string_view::npos);
    const std::string_view event = bytes.substr(6, end - 6);
    require(event == "[DONE]" || is_json(event));
    bytes.remove_prefix(end + 2);
  }
}

void check_requests(const CompletionCall& call, const ModelText& words) {
  require(!call.requests.empty() && call.requests.size() == call.prompts.size());
  require(call.n >= 1 && call.n <= kMaxChoices);
  for (const Request& request : call.requests) {
    require(!request.tokens.empty() && request.num_choices == call.n);
    for (const TokenId token : request.tokens) require(token >= 0 && token < words.info().num_tokens);
    const auto length = static_cast<std::int64_t>(request.tokens.size()) + std::max(0, request.max_tokens);
    require(length <= words.info().max_context);
    if (request.on_prompt_logits) {
      const std::vector<float> logits(request.tokens.size() * static_cast<std::size_t>(words.info().vocab_size));
      request.on_prompt_logits(0, logits);
    }
  }
}

/// Two events for each choice, whose tokens are taken from the input.
void answer(const CompletionCall& call, const ModelText& words, const ServedModel& model, std::string_view input) {
  CompletionResponse response(call, test::not_owned(words), model, "id", 1);
  std::size_t next = 0;
  for (std::size_t prompt = 0; prompt < call.prompts.size(); ++prompt) {
    for (int choice = 0; choice < call.n; ++choice) {
      for (const FinishReason finish : {FinishReason::kNone, FinishReason::kStop}) {
        RequestEvent event;
        event.prompt_index = prompt;
        event.choice = static_cast<std::uint32_t>(choice);
        event.token = (static_cast<unsigned char>(input[next++ % input.size()]) * 7) % words.info().num_tokens;
        event.top_logprobs.assign(static_cast<std::size_t>(std::max(0, call.num_logprobs)), {.token = event.token});
        event.finish = finish;
        check_events(response.on_event(event));
      }
    }
  }
  require(response.done());
  const std::string last = response.finish();
  if (call.stream) {
    check_events(last);
  } else {
    require(is_json(last));
  }
}

void check(const ApiResult<CompletionCall>& call, const ModelText& words, const ServedModel& model,
           std::string_view input) {
  if (!call) {
    require(call.error().status >= 400 && !call.error().message.empty() && is_json(error_body(call.error())));
    return;
  }
  check_requests(*call, words);
  answer(*call, words, model, input);
}

/// Lines of a stream: each is JSON, alone or behind "data: ".
void check_lines(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    require(end != std::string_view::npos);
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (line.starts_with("data: ")) line.remove_prefix(6);
    require(line.empty() || line == "[DONE]" || line.starts_with("event: ") || is_json(line));
  }
}

/// A body may have the text of its answer, which can be a call as no text in JSON's notation can.
std::string answer_text(const boost::json::object& body, std::string_view input) {
  const boost::json::value* answer = body.if_contains("answer");
  return to_valid_utf8(answer != nullptr && answer->is_string() ? std::string_view(answer->get_string()) : input);
}

/// An answer of reasoning, text and whatever calls the input makes of it, by the API that it was asked by.
void check_api(const Api& api, const boost::json::object& body, const ModelText& words, const ServedModel& model,
               std::string_view input) {
  static ResponseStore store({.max_bytes = 100'000});
  const ApiResult<CompletionCall> call = parse_call(api, body, words, model, {.store = &store});
  if (!call) return check(call, words, model, input);
  if (!call->requests.empty()) check_requests(*call, words);
  if (call->n > 1 || call->prompts.size() > 1) return;  // those of several answers have been checked
  const auto writer =
      api.make_writer({.call = *call, .words = test::not_owned(words), .model = model, .id = "id", .created = 1});
  std::string bytes = call->stream ? writer->begin() : std::string();
  for (const FinishReason finish : {FinishReason::kNone, FinishReason::kStop}) {
    RequestEvent event;
    event.reasoning = finish == FinishReason::kNone ? "thought" : "";
    event.token = 'a';
    event.text = answer_text(body, input);
    event.bytes = event.text;
    event.finish = finish;
    event.is_resumed = finish == FinishReason::kNone && call->resumption && !call->resumption->verifies &&
                       !call->resumption->tokens.empty();
    if (!call->prompts.empty()) bytes += writer->on_event(event);
  }
  if (writer->error() != nullptr) {  // another answer than the one that broke off
    require(call->resumption && is_json(error_body(*writer->error())));
    return check_lines(bytes);
  }
  require(writer->done());
  const std::string last = writer->finish();
  check_lines(bytes);
  if (call->stream) {
    check_lines(last);
  } else {
    require(bytes.empty() && is_json(last));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static test::FakeText words;
  words.set_fills_gaps();
  words.set_tool_format("hermes");
  static const ServedModel model{.id = "text"}, blind{.id = "text", .policy = {.image_placeholder = "[image]"}};
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto body = parse_json_object(input, kLimits);
  if (!body) {
    const ApiError error = to_api_error(body.error());
    require(error.status == 400 && !error.message.empty() && is_json(error_body(error)));
    return 0;
  }
  std::size_t table_members = 0, bytes = 0;
  for (const boost::json::key_value_pair& member : *body) check_limits(member.value(), 2, table_members, bytes);
  require(body->size() <= kLimits.max_members);
  require(table_members <= kLimits.max_table_members && bytes <= kLimits.max_memory_bytes);
  check(parse_completion(*body, words, model), words, model, input);
  check(parse_chat_completion(*body, words, model), words, model, input);
  for (const Api& api : all_apis())
    for (const ServedModel* served : {&model, &blind}) check_api(api, *body, words, *served, input);
  return 0;
}
