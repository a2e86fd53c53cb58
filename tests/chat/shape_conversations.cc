// Brings conversations into the shapes of templates and renders them, for tools/template_caps.py, which has Python's
// jinja2 render the same values.
//     shape_conversations < JOB.json > RESULT.json
// JOB is {"templates": [source, ...], "conversations": [{"messages": [...], "tools", "add_generation_prompt",
// "continue_final_message", "names"}, ...]}, RESULT a list with an object for each template: {"caps": {...},
// "results": [{"names": {...}, "prompt": text} or {"error": message}, ...]}.
#include <boost/json.hpp>
#include <ctime>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "support/memory_source.h"
#include "support/template_values.h"

namespace octavo::test {
namespace {

namespace json = boost::json;
using jinja::Kind;
using jinja::Value;

json::value to_json(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone: return nullptr;
    case Kind::kBool: return value.as_bool();
    case Kind::kInt: return value.as_int();
    case Kind::kFloat: return value.as_double();
    case Kind::kText: return json::value(value.text().bytes);
    case Kind::kList: {
      json::array list;
      for (const Value& item : value.items()) list.push_back(to_json(item));
      return list;
    }
    default: break;
  }
  json::object dict;
  for (const jinja::Entry& entry : value.dict().entries) dict[entry.key.text().bytes] = to_json(entry.value);
  return dict;
}

/// Marks of pictures for templates without a form for them; what others write of one is their own.
constexpr PictureMarks kMarks = {.place = "<|vision_start|><|image_pad|><|vision_end|>"};

std::tm time_of_job() {
  std::tm now{};
  now.tm_year = 2025 - 1900;
  now.tm_mon = 2;
  now.tm_mday = 9;
  now.tm_hour = 14;
  now.tm_min = 5;
  now.tm_sec = 7;
  ::timegm(&now);
  return now;
}

bool flag(const json::object& object, std::string_view name, bool otherwise) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? otherwise : value->as_bool();
}

json::object result_of(const ChatTemplate& chat_template, const json::object& conversation) {
  const std::vector<ChatMessage> messages = chat_messages(conversation.at("messages").as_array());
  ChatTemplateOptions options{.add_generation_prompt = flag(conversation, "add_generation_prompt", true),
                              .continue_final_message = flag(conversation, "continue_final_message", false)};
  if (const json::value* tools = conversation.if_contains("tools")) options.tools = template_value(*tools);
  if (const json::value* names = conversation.if_contains("names"))
    options.names = std::get<TemplateDict>(template_value(*names));
  const NamedTokens tokens{.bos = "<s>", .eos = "</s>"};
  const auto parts = chat_template.render(messages, tokens, options, time_of_job());
  json::object result;
  if (parts) {
    std::string prompt;
    for (const PromptPart& part : *parts) prompt += part.text;
    result["prompt"] = prompt;
  } else {
    result["error"] = parts.error().message;
  }
  auto shaped = shape_conversation(messages, chat_template.caps(), options);
  if (!shaped) return result;
  chat_template.thinking().add_word(options.names, *shaped);
  if (auto translated = chat_template.thinking().translate(options.names)) options.names = std::move(*translated);
  options.continue_final_message = false;  // Python puts its own mark behind the last message
  const auto input = conversation_input(*shaped, chat_template.caps(), tokens, options);
  if (!input) return result;
  json::object names;
  for (const auto& [name, value] : input->names()) names[name.text().bytes] = to_json(value);
  result["names"] = std::move(names);
  return result;
}

json::object caps_of(const TemplateCaps& caps) {
  constexpr const char* kSystems[] = {"none", "one", "several", "anywhere"};
  constexpr const char* kArguments[] = {"either", "dict", "text"};
  constexpr const char* kEmpties[] = {"text", "none", "absent"};
  constexpr const char* kReasonings[] = {"none", "name", "part"};
  return {{"system", kSystems[static_cast<int>(caps.system)]},
          {"text", caps.takes_text},
          {"parts", caps.takes_parts},
          {"repeats", caps.takes_repeats},
          {"turns", caps.takes_turns},
          {"counts_calls", caps.counts_calls},
          {"counts_results", caps.counts_results},
          {"needs_user", caps.needs_user},
          {"lone_result", caps.takes_lone_result},
          {"least_answer", caps.least_answer},
          {"pictures", caps.takes_pictures},
          {"result_pictures", caps.takes_result_pictures},
          {"prefill", caps.takes_prefill},
          {"tools", caps.takes_tools},
          {"tools_name", caps.tools_name},
          {"format", caps.format->name},
          {"empty_tools", caps.empty_tools},
          {"parallel", caps.takes_parallel},
          {"calls", caps.takes_calls},
          {"calls_alone", caps.calls_alone},
          {"short_ids", caps.short_ids},
          {"arguments", kArguments[static_cast<int>(caps.arguments)]},
          {"empty", kEmpties[static_cast<int>(caps.empty)]},
          {"result_role", caps.result_role},
          {"reasoning", kReasonings[static_cast<int>(caps.reasoning)]},
          {"reasoning_name", caps.reasoning_name}};
}

json::array run(const json::object& job) {
  json::array results;
  for (const json::value& source : job.at("templates").as_array()) {
    const auto chat_template = ChatTemplate::load(MemorySource(), std::string_view(source.as_string()), kMarks);
    if (!chat_template) {
      results.push_back(json::object{{"error", chat_template.error().message}});
      continue;
    }
    json::array rendered;
    for (const json::value& conversation : job.at("conversations").as_array())
      rendered.push_back(result_of(*chat_template, conversation.as_object()));
    results.push_back(json::object{{"caps", caps_of(chat_template->caps())}, {"results", std::move(rendered)}});
  }
  return results;
}

}  // namespace
}  // namespace octavo::test

int main() {
  const std::string job{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << boost::json::serialize(octavo::test::run(boost::json::parse(job).as_object()));
  return 0;
}
