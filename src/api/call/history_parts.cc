#include "api/call/history_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/json/base64.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kParagraph = "\n\n";  // between pieces of reasoning

enum class PartUse : std::uint8_t {
  kText,       // the text in member `what`
  kThought,    // the model's reasoning, in member `what`
  kLeftOut,    // left out: nobody but its maker can read it
  kUnseen,     // a note that names `what`, or the transcript of what was spoken
  kDocument,   // the document's text, or a note where it has none
  kReference,  // the name of a tool
  kResult,     // the texts in it, or a note where it has none
  kRun,        // a note about a call that another server has run
};

struct PartKind {
  std::string_view type;
  PartUse use;
  std::string_view what = {};  // the member with the text; else the words for what cannot be seen
};

constexpr std::string_view kImage = "an image", kSound = "a recording", kVideo = "a video", kFile = "a file";
constexpr std::string_view kWayToSee = "; a model that sees does so with --mmproj FILE";
constexpr std::string_view kOutput = "the output of a program", kPage = "a page of the web";

/// The kinds of parts in OpenAI's chats and responses, in Anthropic's messages, and in the APIs that extend these.
constexpr PartKind kPartKinds[] = {
    {"text", PartUse::kText, "text"},
    {"input_text", PartUse::kText, "text"},
    {"output_text", PartUse::kText, "text"},
    {"reasoning_text", PartUse::kText, "text"},
    {"summary_text", PartUse::kText, "text"},
    {"refusal", PartUse::kText, "refusal"},
    {"compaction", PartUse::kText, "content"},
    {"thinking", PartUse::kThought, "thinking"},
    {"reasoning", PartUse::kThought, "reasoning"},
    {"redacted_thinking", PartUse::kLeftOut},
    {"image", PartUse::kUnseen, kImage},
    {"image_url", PartUse::kUnseen, kImage},
    {"input_image", PartUse::kUnseen, kImage},
    {"image_file", PartUse::kUnseen, kImage},
    {"computer_screenshot", PartUse::kUnseen, kImage},
    {"audio", PartUse::kUnseen, kSound},
    {"audio_url", PartUse::kUnseen, kSound},
    {"input_audio", PartUse::kUnseen, kSound},
    {"output_audio", PartUse::kUnseen, kSound},
    {"video", PartUse::kUnseen, kVideo},
    {"video_url", PartUse::kUnseen, kVideo},
    {"input_video", PartUse::kUnseen, kVideo},
    {"container_upload", PartUse::kUnseen, kFile},
    {"document", PartUse::kDocument, "a document"},
    {"file", PartUse::kDocument, kFile},
    {"input_file", PartUse::kDocument, kFile},
    {"tool_reference", PartUse::kReference},
    {"search_result", PartUse::kResult, "a result of a search"},
    {"tool_result", PartUse::kResult, "the result of a tool"},
    {"mcp_tool_result", PartUse::kResult, "the result of a tool"},
    {"tool_search_tool_result", PartUse::kResult, "the results of a search for tools"},
    {"web_search_tool_result", PartUse::kResult, "the results of a search of the web"},
    {"web_fetch_tool_result", PartUse::kResult, kPage},
    {"code_execution_tool_result", PartUse::kResult, kOutput},
    {"bash_code_execution_tool_result", PartUse::kResult, kOutput},
    {"text_editor_code_execution_tool_result", PartUse::kResult, kOutput},
    {"advisor_tool_result", PartUse::kResult, "advice"},
    {"tool_use", PartUse::kRun},
    {"server_tool_use", PartUse::kRun},
    {"mcp_tool_use", PartUse::kRun},
};

/// The members whose texts are shown, in this order, where a result has the form of another server.
constexpr std::string_view kReadable[] = {
    "title",           "filename", "url",    "source",    "query",   "queries", "text",    "code",    "action",
    "arguments",       "stdout",   "stderr", "logs",      "content", "output",  "outputs", "results", "tool_name",
    "tool_references", "message",  "error",  "error_code"};

/// The members of these that are shown as JSON where they are objects.
constexpr std::string_view kAsJson[] = {"action", "arguments"};

/// The media types of texts, besides those that begin with "text/".
constexpr std::string_view kTextMedia[] = {"application/json", "application/xml", "application/yaml",
                                           "application/toml", "application/javascript"};

const PartKind* kind_of(std::string_view type) {
  const auto* const found = std::ranges::find(kPartKinds, type, &PartKind::type);
  return found == std::end(kPartKinds) ? nullptr : found;
}

/// The text in a member; empty where it is none.
std::string_view text_at(const json::object& object, std::string_view name) {
  const json::value* member = object.if_contains(name);
  const json::string* text = member == nullptr ? nullptr : member->if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

const json::object* object_at(const json::object& object, std::string_view name) {
  const json::value* member = object.if_contains(name);
  return member == nullptr ? nullptr : member->if_object();
}

bool is_text_media(std::string_view type) {
  type = type.substr(0, type.find(';'));
  return type.starts_with("text/") || std::ranges::find(kTextMedia, type) != std::end(kTextMedia);
}

std::optional<std::string> decoded_text(std::string_view media_type, std::string_view base64) {
  if (!is_text_media(media_type)) return std::nullopt;
  auto bytes = decode_base64(base64);
  if (bytes) *bytes = to_valid_utf8(*bytes);
  return bytes;
}

/// The decoded text of a URL such as "data:text/plain;base64,...".
std::optional<std::string> text_of_url(std::string_view url) {
  constexpr std::string_view kScheme = "data:", kEncoding = ";base64";
  const std::size_t comma = url.find(',');
  if (!url.starts_with(kScheme) || comma == std::string_view::npos) return std::nullopt;
  std::string_view head = url.substr(kScheme.size(), comma - kScheme.size());
  if (!head.ends_with(kEncoding)) return std::nullopt;
  head.remove_suffix(kEncoding.size());
  return decoded_text(head, url.substr(comma + 1));
}

/// Writes the contents of parts as text, one line for each.
class Teller {
 public:
  explicit Teller(HistoryReader::Names& named_tools) : named_tools_(named_tools) {}

  void add(const json::value& value, int depth = 0) {
    if (const json::string* text = value.if_string()) return text->empty() ? void() : add_line(*text);
    if (depth > HistoryReader::kMaxDepth) return add_too_deep();
    if (const json::array* array = value.if_array()) {
      for (const json::value& element : *array) add(element, depth + 1);
    } else if (const json::object* object = value.if_object()) {
      const PartKind* kind = kind_of(text_at(*object, "type"));
      kind == nullptr ? add_readable(*object, depth) : add_part(*object, *kind, depth);
    }
  }

  void add_part(const json::object& part, const PartKind& kind, int depth = 0) {
    switch (kind.use) {
      case PartUse::kText:
      case PartUse::kThought:
        if (const json::value* text = part.if_contains(kind.what)) add(*text, depth + 1);
        return;
      case PartUse::kLeftOut: return;
      case PartUse::kUnseen: {
        const std::string_view spoken = text_at(part, "transcript");
        return spoken.empty() ? add_unseen(kind.what) : add_line(spoken);
      }
      case PartUse::kDocument: return add_document(part, kind.what, depth);
      case PartUse::kReference: {
        const std::string_view name = text_at(part, "tool_name");
        named_tools_.emplace(name);
        return add_line(name);
      }
      case PartUse::kResult: {
        const std::size_t begin = text_.size();
        add_readable(part, depth);
        if (text_.size() == begin) add_unseen(kind.what);
        return;
      }
      case PartUse::kRun: return add_run(part);
    }
  }

  /// The words for the first thing that the model cannot see; empty: it sees all.
  std::string_view first_unseen() const { return first_unseen_; }
  std::string take() { return std::move(text_); }

 private:
  void add_line(std::string_view line) {
    if (has_line_) text_ += '\n';
    text_ += line;
    has_line_ = true;
  }

  void add_unseen(std::string_view what, std::string_view name = {}) {
    if (first_unseen_.empty()) first_unseen_ = what;
    add_line(unseen(what, name));
  }

  /// Adds one note for all that is nested too deep.
  void add_too_deep() {
    if (!std::exchange(is_too_deep_, true)) add_unseen("something");
  }

  void add_readable(const json::object& object, int depth) {
    for (const std::string_view name : kReadable) {
      const json::value* member = object.if_contains(name);
      if (member == nullptr) continue;
      const bool is_json = member->is_object() && std::ranges::find(kAsJson, name) != std::end(kAsJson);
      is_json ? add_line(json::serialize(*member)) : add(*member, depth + 1);
    }
  }

  void add_run(const json::object& part) {
    const json::value* input = part.if_contains("input");
    const std::string_view name = text_at(part, "name");
    add_line(fmt::format("[a call of {} that another server ran: {}]", name.empty() ? kUnknownTool : name,
                         arguments_text(input)));
  }

  /// Adds a document: its title and its text, or a note with its name.
  void add_document(const json::object& part, std::string_view what, int depth) {
    const json::object* inner = object_at(part, "file");
    const json::object& file = inner == nullptr ? part : *inner;
    const std::string_view title = text_at(part, "title"), name = text_at(file, "filename");
    const std::string_view shown = title.empty() ? name : title;
    const json::object* source = object_at(part, "source");
    const json::value* content = source == nullptr ? nullptr : source->if_contains("content");
    auto text = text_of_url(text_at(file, "file_data"));
    if (source != nullptr && text_at(*source, "type") == "text") text = std::string(text_at(*source, "data"));
    if (source != nullptr && text_at(*source, "type") == "base64")
      text = decoded_text(text_at(*source, "media_type"), text_at(*source, "data"));
    if (!text && content == nullptr) return add_unseen(what, shown);
    for (const std::string_view line : {shown, text_at(part, "context")})
      if (!line.empty()) add_line(line);
    text ? add_line(*text) : add(*content, depth + 1);
  }

  HistoryReader::Names& named_tools_;
  std::string text_ = {};
  bool has_line_ = false, is_too_deep_ = false;
  std::string_view first_unseen_ = {};
};

/// The error of a part that the user gives and that is no text. For an image or a document of Anthropic's API, the
/// place has the kind in it, "messages[2].content[0].image": Claude Code looks for that, takes the block out of its
/// history and asks again; else it would send the block with every later request.
std::unexpected<ApiError> no_text(const JsonCursor& part, std::string_view what, bool sees) {
  const JsonCursor type = part["type"];
  const std::string_view kind = text_at(*part.if_object(), "type");
  const JsonCursor place = kind == "image" || kind == "document" ? part[kind] : type;
  const std::string_view expected =
      sees ? "text or a picture: this server reads no more" : "text: this server reads text only";
  return refused(
      place.error(fmt::format("found {}{}{}, expected {}{}", type.is_given() ? describe_json(*type.value()) : "none",
                              what.empty() ? "" : ", ", what, expected, what == kImage && !sees ? kWayToSee : ""),
                  "unsupported_parameter"));
}

/// The text in the member that the part's kind names.
ApiResult<std::optional<std::string_view>> text_member(const JsonCursor& part, const PartKind& kind, bool is_newest) {
  const JsonCursor given = part[kind.what];
  if (kind.use == PartUse::kThought && given.if_array() != nullptr) return std::nullopt;
  if (kind.what == "content") return std::nullopt;
  if (is_newest) OCTAVO_TRY_VOID(to_api_result(given.needed_string()));
  OCTAVO_TRY(const auto text, to_api_result(given.string()));
  return text.value_or("");
}

}  // namespace

std::string unseen(std::string_view what, std::string_view name) {
  return fmt::format("[{} that this model cannot see{}{}]", what, name.empty() ? "" : ": ", name);
}

std::size_t newest_of(std::span<const Speaker> speakers) {
  const auto last_before = [&](std::size_t end) {
    while (end > 0 && speakers[end - 1] == Speaker::kAside) --end;
    return end;
  };
  const std::size_t end = last_before(speakers.size());
  if (end == 0 || speakers[end - 1] != Speaker::kUser) return speakers.size();
  const std::size_t before = last_before(end - 1);
  const bool may_be_a_tools = before > 0 && speakers[before - 1] == Speaker::kTool;
  return may_be_a_tools ? speakers.size() : end - 1;
}

std::string arguments_text(const json::value* given) {
  if (given == nullptr || given->is_null()) return {};
  const json::string* text = given->if_string();
  return text == nullptr ? json::serialize(*given) : std::string(*text);
}

void add_thought(std::string_view thought, std::string& reasoning) {
  if (!reasoning.empty() && !thought.empty()) reasoning += kParagraph;
  reasoning += thought;
}

ApiResult<ReadPart> HistoryReader::read_part(const JsonCursor& part, bool is_newest) {
  using Kind = ReadPart::Kind;
  if (!is_newest && !part.is_given()) return ReadPart();
  if (const json::string* text = part.if_string(); text != nullptr && !is_newest)
    return ReadPart{.kind = Kind::kSaid, .text = std::string(*text)};
  OCTAVO_TRY_VOID(to_api_result(part.needed_object("a content part (an object)")));
  const JsonCursor type = part["type"];
  OCTAVO_TRY(const auto named, to_api_result(type.string()));
  const PartKind* kind = kind_of(named.value_or(""));
  if (kind == nullptr && is_newest) return no_text(part, {}, pictures_.sees());
  if (kind == nullptr) {
    std::string note = unknown(type);
    const std::string_view text = text_at(*part.if_object(), "text");
    return ReadPart{.kind = Kind::kSaid, .text = text.empty() ? note : fmt::format("{}\n{}", note, text)};
  }
  if (kind->use == PartUse::kLeftOut) return ReadPart();
  if (kind->what == kImage && pictures_.sees()) {
    OCTAVO_TRY(auto found, pictures_.find(part, is_newest));
    if (found) return ReadPart{.kind = Kind::kPicture, .picture = std::move(*found)};
  }
  const bool is_thought = kind->use == PartUse::kThought;
  if (is_thought || kind->use == PartUse::kText) {
    OCTAVO_TRY(const auto text, text_member(part, *kind, is_newest));
    if (text) return ReadPart{.kind = is_thought ? Kind::kThought : Kind::kSaid, .text = std::string(*text)};
  }
  Teller teller(named_tools_);
  teller.add_part(*part.if_object(), *kind);
  if (is_newest && !teller.first_unseen().empty()) return no_text(part, teller.first_unseen(), pictures_.sees());
  std::string text = teller.take();
  if (text.empty()) return ReadPart();
  return ReadPart{.kind = is_thought ? Kind::kThought : Kind::kSaid, .text = std::move(text)};
}

ApiResult<void> HistoryReader::add(ReadPart part, ChatMessage& message) {
  using Kind = ReadPart::Kind;
  if (part.kind == Kind::kPicture) {
    OCTAVO_TRY(message.parts.emplace_back(), pictures_.decode(part.picture));
  } else if (part.kind == Kind::kThought && message.role == "assistant") {
    add_thought(part.text, message.reasoning);
  } else if (part.kind != Kind::kNothing) {
    message.parts.push_back({.text = std::move(part.text)});
  }
  return {};
}

std::string HistoryReader::texts_in(const json::value& value) {
  Teller teller(named_tools_);
  teller.add(value);
  return teller.take();
}

std::string HistoryReader::unknown(const JsonCursor& found) {
  const std::string what = found.is_given() ? describe_json(*found.value()) : "none";
  if (num_unknown_++ == 0) first_unknown_ = fmt::format("{}: found {}", found.path(), what);
  return unseen("something");
}

std::vector<std::string> HistoryReader::warnings() const {
  std::vector<std::string> warnings;
  if (num_unknown_ > 0) {
    std::string& text = warnings.emplace_back(
        fmt::format("{}, which this server does not know: the model is told that there is something", first_unknown_));
    if (num_unknown_ > 1) text += fmt::format("; there are {} such parts", num_unknown_);
  }
  if (auto missing = pictures_.warning()) warnings.push_back(std::move(*missing));
  return warnings;
}

}  // namespace octavo
