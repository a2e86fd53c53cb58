// Any JSON as a part, a message or an item of what was said before, by each API that has conversations. Nothing is
// refused for its kind, and what the model is told of it is no more than a few times what was sent.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/call/picture_addresses.h"
#include "api/fake_text.h"
#include "api/messages/messages_request.h"
#include "api/ollama/ollama_request.h"
#include "api/openai/openai_chat.h"
#include "api/responses/responses_request.h"
#include "fuzz_bytes.h"
#include "json/json_document.h"

namespace {

using namespace octavo;
namespace json = boost::json;

// The shortest part with a note is {"type":""}, and numbers may become longer as they are written.
constexpr std::size_t kMostTimes = 16, kMostBeside = 1000;

const json::array kBehind = {json::object{{"role", "assistant"}, {"content", "ok"}},
                             json::object{{"role", "user"}, {"content", "go on"}}};

std::size_t bytes_of(const TemplateValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->size();
  std::size_t bytes = 0;
  if (const auto* list = std::get_if<TemplateList>(&value))
    for (const TemplateValue& element : *list) bytes += bytes_of(element);
  if (const auto* dict = std::get_if<TemplateDict>(&value))
    for (const auto& [name, member] : *dict) bytes += name.size() + bytes_of(member);
  return bytes;
}

std::size_t bytes_of(const ApiRequest& request) {
  std::size_t bytes = 0;
  for (const ChatMessage& message : std::get<Conversation>(request.prompt).messages) {
    bytes += message.role.size() + message.content.size() + message.reasoning.size() + message.name.size() +
             message.tool_call_id.size();
    for (const ContentPart& part : message.parts)
      bytes += part.text.size() + (part.picture.bytes == nullptr ? 0 : part.picture.bytes->size());
    for (const ToolCall& call : message.tool_calls)
      bytes += call.id.size() + call.name.size() + bytes_of(call.arguments);
  }
  for (const std::string& warning : request.warnings) bytes += warning.size();
  return bytes;
}

void check(const ApiResult<ApiRequest>& read, std::size_t size) {
  if (read) {
    FUZZ_CHECK(bytes_of(*read) <= kMostTimes * size + kMostBeside);
    return;
  }
  FUZZ_CHECK(read.error().status >= 400 && !read.error().message.empty());
  FUZZ_CHECK(read.error().code != "unsupported_parameter");  // a wrong form alone
}

json::array before(const json::value& first) {
  json::array said{first};
  said.insert(said.end(), kBehind.begin(), kBehind.end());
  return said;
}

json::object message(std::string_view role, const json::value& content) {
  return {{"role", role}, {"content", content}};
}

/// The value in the places that a history has for it.
std::vector<json::array> histories(const json::value& value) {
  const json::array parts = value.is_array() ? value.get_array() : json::array{value};
  const json::object result{{"type", "tool_result"}, {"tool_use_id", "t"}, {"content", parts}};
  const json::object call{{"type", "tool_use"}, {"id", "t"}, {"name", "f"}, {"input", value}};
  const json::object output{{"type", "function_call_output"}, {"call_id", "t"}, {"output", parts}};
  return {before(value),
          before(message("user", parts)),
          before(message("assistant", parts)),
          before(message("tool", parts)),
          before(message("user", json::array{result})),
          before(message("assistant", json::array{call})),
          before(output)};
}

/// Where each address has its picture, none is left.
void check_addresses(json::object body) {
  FetchedPictures fetched;
  for (const PictureAddress& found : find_pictures(body).addresses) {
    FUZZ_CHECK(found.count > 0 && is_picture_address(found.address));
    fetched.emplace(found.address, FetchedPicture{.bytes = "one", .media_type = "image/png"});
  }
  FUZZ_CHECK(put_pictures(body, fetched).empty());
  FUZZ_CHECK(find_pictures(body).addresses.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static test::FakeText blind, seeing;
  seeing.set_vision();
  static const ServedModel model{.id = "text"};
  static ResponseStore store({.max_bytes = 100'000});
  const OwnResponses own{.store = &store};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  boost::system::error_code error;
  const json::value value = json::parse(input, error);
  if (error) return 0;
  for (const test::FakeText* words : {&blind, &seeing}) {
    const ApiContext context{.words = *words, .model = model, .responses = &own};
    for (const json::array& said : histories(value)) {
      const json::object chat{{"messages", said}, {"max_tokens", 1}}, response{{"input", said}};
      check_addresses(chat);
      check_addresses(response);
      check(read_messages(chat, context), size);
      check(read_openai_chat(chat, context), size);
      check(read_ollama_chat(chat, context), size);
      check(read_counted_response(response, context), size);
    }
  }
  return 0;
}
