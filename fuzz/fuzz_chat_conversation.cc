// Any conversation in the shapes of any caps: it is refused in words, or no text of a user, a system or a tool is
// lost, each keeps its origin, and a template renders it. Any bytes as JSON: refused in words, or the same when written
// and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/to_size.h"
#include "chat/chat_template.h"
#include "fuzz_bytes.h"
#include "json/json_text.h"
#include "support/memory_source.h"

namespace {

using namespace octavo;
using jinja::Origin;

void check_json(std::string_view text) {
  std::size_t left = 1000;
  const auto value = read_json_object(text, left);
  FUZZ_CHECK(left <= 1000);
  if (!value) {
    FUZZ_CHECK(!value.error().message.empty());
    return;
  }
  const std::string written = write_json(*value);
  const auto again = read_json_object(written, left = 1000);
  FUZZ_CHECK(again && write_json(*again) == written);
}

constexpr PictureMarks kMarks = {.place = "<picture>"};

TemplateCaps make_manners(Bytes& bytes) {
  constexpr std::string_view kResultRoles[] = {"tool", "ipython", ""};
  TemplateCaps caps;
  caps.system = static_cast<TemplateCaps::System>(bytes.below(4));
  caps.arguments = static_cast<TemplateCaps::Arguments>(bytes.below(3));
  caps.empty = static_cast<TemplateCaps::Empty>(bytes.below(3));
  caps.reasoning = static_cast<TemplateCaps::Reasoning>(bytes.below(3));
  caps.result_role = kResultRoles[bytes.below(3)];
  caps.format = tool_formats()[to_size(bytes.below(static_cast<int>(tool_formats().size())))];
  for (bool* flag : {&caps.system_alone, &caps.takes_text, &caps.takes_parts, &caps.takes_repeats, &caps.takes_tools,
                     &caps.empty_tools, &caps.takes_calls, &caps.takes_parallel, &caps.calls_alone, &caps.short_ids,
                     &caps.takes_pictures, &caps.takes_result_pictures})
    *flag = bytes.below(2) == 0;
  caps.marks = kMarks;
  return caps;
}

/// Texts are "<n>" with the message's number, so that each can be found again.
std::vector<ChatMessage> make_messages(Bytes& bytes) {
  constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool", "developer", "critic"};
  std::vector<ChatMessage> messages;
  for (int i = bytes.below(12); i >= 0; --i) {
    const std::string text = std::string("<").append(std::to_string(i)).append(">");
    ChatMessage message{.role = std::string(kRoles[bytes.below(6)]), .content = text};
    if (bytes.below(4) == 0) message.parts = {{.text = text}, {.text = text}};
    for (int picture = bytes.below(6); picture > 3; --picture)
      message.parts.push_back({.kind = ContentPart::Kind::kPicture});
    if (bytes.below(4) == 0) message.reasoning = text;
    if (bytes.below(4) == 0) message.name = text;
    if (message.role == "assistant" && bytes.below(3) == 0) message.content.clear();
    for (int call = message.role == "assistant" ? bytes.below(4) : 0; call > 0; --call)
      message.tool_calls.push_back({.id = std::to_string(bytes.below(3)),
                                    .name = text,
                                    .arguments = bytes.below(2) == 0 ? TemplateValue(std::string("{\"a\": [1]}"))
                                                                     : TemplateValue(TemplateDict{{text, text}})});
    message.tool_call_id = std::to_string(bytes.below(3));
    messages.push_back(std::move(message));
  }
  return messages;
}

void check_shape(const std::vector<ChatMessage>& messages, const TemplateCaps& caps) {
  const ChatTemplateOptions options{.tools = TemplateList{TemplateDict{{"name", std::string("<tool>")}}}};
  const auto shaped = shape_conversation(messages, caps, options);
  if (!shaped) {
    FUZZ_CHECK(shaped.error().message.starts_with("messages["));
    return;
  }
  std::size_t num_calls = 0, num_given = 0;
  std::ptrdiff_t num_pictures = 0;
  std::string by_origin[5];
  for (const ShapedMessage& message : shaped->turns) {
    FUZZ_CHECK(!message.parts.empty());
    num_calls += message.calls.size();
    for (const ShapedPart& part : message.parts) num_pictures += part.is_picture ? 1 : 0;
    for (const ShapedPart& part : message.parts)
      for (const jinja::TextRun& run : part.text) num_pictures += run.text == kMarks.place ? 1 : 0;
    for (const ShapedPart& part : message.parts)
      for (const jinja::TextRun& run : part.text) by_origin[static_cast<std::size_t>(run.origin)] += run.text;
  }
  for (const ChatMessage& message : messages) {
    num_given += message.tool_calls.size();
    num_pictures -= std::ranges::count_if(message.parts, is_picture);
    if (has_pictures(message)) continue;  // its content is in its parts
    const std::string& role = message.role;
    Origin origin = role == "assistant" ? Origin::kModel : role == "tool" ? Origin::kTool : Origin::kUser;
    if (role == "system" || role == "developer") origin = Origin::kSystem;
    FUZZ_CHECK(by_origin[static_cast<std::size_t>(origin)].find(message.content) != std::string::npos);
  }
  FUZZ_CHECK(num_pictures == 0);
  FUZZ_CHECK(num_calls == (caps.takes_calls ? num_given : 0));
  FUZZ_CHECK(caps.takes_tools ||
             by_origin[static_cast<std::size_t>(Origin::kTool)].find("<tool>") != std::string::npos);
}

void check_template(const std::vector<ChatMessage>& messages, Bytes& bytes) {
  static const ChatTemplate kTemplates[] = {
      std::move(*ChatTemplate::load(test::MemorySource(),
                                    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", kMarks)),
      std::move(*ChatTemplate::load(test::MemorySource(),
                                    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
                                    "{{ raise_exception('turns!') }}{% endif %}{{ m.content | trim }}{% endfor %}",
                                    kMarks)),
      std::move(*ChatTemplate::load(
          test::MemorySource(),
          "{% for m in messages %}{{ m.thinking }}{{ m.content }}{% for c in m.tool_calls %}{{ c.id }}"
          "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}{{ tools }}",
          kMarks))};
  const bool continues = bytes.below(2) == 0;
  const auto parts = kTemplates[bytes.below(3)].render(
      messages, {}, {.add_generation_prompt = !continues, .continue_final_message = continues}, std::tm{});
  FUZZ_CHECK(parts || !parts.error().message.empty());
  if (!parts || !continues) return;
  for (const PromptPart& part : *parts) FUZZ_CHECK(part.text.find(kContinueMark) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_json(text);
  check_json("{\"a\": " + std::string(text));
  Bytes bytes({data, size});
  const TemplateCaps caps = make_manners(bytes);
  const std::vector<ChatMessage> messages = make_messages(bytes);
  check_shape(messages, caps);
  check_template(messages, bytes);
  return 0;
}
