// Any answer, read in any format: the cut of the answer into pieces changes nothing, events come in order, and without
// a call all of it is text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/to_size.h"
#include "fuzz_bytes.h"
#include "toolcalls/tool_call_parser.h"

namespace {

using namespace octavo;
using Channel = ToolCallParser::Channel;

const ToolSet& tools() {
  static const ToolSet all = [] {
    const auto type = [](const char* name) { return TemplateDict{{"type", std::string(name)}}; };
    const TemplateDict properties = {
        {"s", type("string")}, {"n", type("number")}, {"o", type("object")}, {"x", TemplateDict()}};
    const TemplateDict function = {{"name", std::string("f")},
                                   {"parameters", TemplateDict{{"properties", properties}}}};
    return ToolSet(TemplateList{TemplateDict{{"function", function}}});
  }();
  return all;
}

struct Part {
  std::string text;
  Channel channel;
};

/// Texts that calls are made of, and any bytes.
std::vector<Part> parts_of(Bytes& bytes, const ToolFormat& format) {
  static constexpr std::string_view kTexts[] = {"{\"name\": \"f\", ",
                                                "\"arguments\": {",
                                                "\"s\": \"",
                                                "\"n\": 1",
                                                "}",
                                                "{",
                                                "[",
                                                "]",
                                                ",",
                                                "\"",
                                                "f",
                                                "s",
                                                "n",
                                                "<function=f>",
                                                "</function>",
                                                "<parameter=s>",
                                                "<parameter=n>",
                                                "</parameter>",
                                                "</tool_call>",
                                                "<arg_key>s</arg_key>",
                                                "<arg_value>",
                                                "</arg_value>",
                                                "<|\"|>",
                                                "call:f{",
                                                "s:",
                                                "(",
                                                ")",
                                                "s=",
                                                "'",
                                                "\\",
                                                "[ARGS]",
                                                "<|message|>",
                                                "\n",
                                                " "};
  std::vector<Part> parts;
  Channel channel = Channel::kContent;
  while (!bytes.empty()) {
    const int kind = bytes.below(16);
    std::string text;
    if (kind == 0) {
      channel = bytes.below(2) == 0 ? Channel::kContent : Channel::kReasoning;
    } else if (kind < 4) {
      text = format.opens[to_size(bytes.next()) % format.opens.size()];
    } else if (kind < 6) {
      text = format.tokens[to_size(bytes.next()) % format.tokens.size()];
    } else if (kind < 14) {
      text = kTexts[to_size(bytes.next()) % std::size(kTexts)];
    } else {
      text = std::string(1, static_cast<char>(bytes.next()));
    }
    parts.push_back({.text = std::move(text), .channel = channel});
  }
  return parts;
}

struct Parsed {
  std::string content, reasoning, calls;  // name, arguments and end of each, with marks between
  int num_calls = 0;
  bool operator==(const Parsed&) const = default;
};

void add(Parsed& parsed, std::span<const ToolCallEvent> events, bool& is_open) {
  for (const ToolCallEvent& event : events) {
    if (event.kind == ToolCallEvent::Kind::kContent) {
      parsed.content += event.text;
      continue;
    }
    if (event.kind == ToolCallEvent::Kind::kReasoning) {
      parsed.reasoning += event.text;
      continue;
    }
    FUZZ_CHECK(is_open == (event.kind != ToolCallEvent::Kind::kBegin));
    if (event.kind == ToolCallEvent::Kind::kBegin) {
      is_open = true;
      FUZZ_CHECK(event.index == parsed.num_calls++);
      parsed.calls += "\n" + event.text + "\n" + event.id + "\n";
    } else {
      FUZZ_CHECK(event.index + 1 == parsed.num_calls);
      parsed.calls += event.text;
      if (event.kind == ToolCallEvent::Kind::kEnd) is_open = false;
    }
  }
}

Parsed parse(const ToolFormat& format, const std::vector<Part>& parts, bool is_whole, bool first_only) {
  ToolCallParser parser(format, tools(), first_only);
  Parsed parsed;
  bool is_open = false;
  for (const Part& part : parts) {
    if (is_whole) {
      add(parsed, parser.push(part.text, part.channel), is_open);
    } else {
      for (const char& c : part.text) add(parsed, parser.push({&c, 1}, part.channel), is_open);
    }
  }
  add(parsed, parser.finish(), is_open);
  FUZZ_CHECK(!is_open);
  FUZZ_CHECK(parser.num_calls() == parsed.num_calls);
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes({data, size});
  const auto formats = tool_formats();
  const ToolFormat& format = *formats[to_size(bytes.next()) % formats.size()];
  const std::vector<Part> parts = parts_of(bytes, format);
  const Parsed parsed = parse(format, parts, true, false);
  FUZZ_CHECK(parse(format, parts, false, false) == parsed);
  FUZZ_CHECK(parse(format, parts, false, true) == parse(format, parts, true, true));
  if (parsed.num_calls > 0) return 0;
  std::string content, reasoning;
  for (const Part& part : parts) (part.channel == Channel::kContent ? content : reasoning) += part.text;
  FUZZ_CHECK(parsed.content == content && parsed.reasoning == reasoning);
  return 0;
}
