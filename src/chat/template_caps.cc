#include "chat/template_caps.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "chat/conversation.h"
#include "chat/template_probe.h"

namespace octavo {

namespace {

using Caps = TemplateCaps;
using Messages = std::vector<ChatMessage>;

// A few times what one rendering may take: no template in use needs a tenth of it.
constexpr jinja::Budget kProbeBudget{.bytes = std::size_t{128} << 20, .steps = 2'000'000};

// Marks that no template writes, with letters alone, so that no filter changes them.
constexpr std::string_view kSystem = "Qsysa", kSystemTwo = "Qsysb", kSystemLate = "Qsysc";
constexpr std::string_view kUser = "Qusera", kUserTwo = "Quserb";
constexpr std::string_view kAnswer = "Qansa", kAnswerTwo = "Qansb";
constexpr std::string_view kThought = "Qthought", kResult = "Qresult", kTool = "qtool", kUnknownRole = "qrole",
                           kAbout = "Qabout";
constexpr std::string_view kKey = "qkey", kArgument = "Qargument", kArgumentTwo = "Qsecond", kResultTwo = "Qother";
constexpr std::string_view kCallId = "call_Qabcdef0123456789", kCallIdTwo = "call_Qabcdef9876543210";

ChatMessage message(std::string_view role, std::string_view content) {
  return {.role = std::string(role), .content = std::string(content)};
}

ToolCall call(TemplateValue arguments, std::string_view id) {
  return {.id = std::string(id), .name = std::string(kTool), .arguments = std::move(arguments)};
}

TemplateValue arguments_as_dict(std::string_view argument = kArgument) {
  return TemplateDict{{std::string(kKey), TemplateValue(std::string(argument))}};
}

TemplateValue arguments_as_text() { return std::string(R"({"qkey": "Qargument"})"); }

ChatMessage calling(TemplateValue arguments = arguments_as_dict(), std::string_view content = {}) {
  ChatMessage turn = message("assistant", content);
  turn.tool_calls.push_back(call(std::move(arguments), kCallId));
  return turn;
}

ChatMessage result(std::string_view text = kResult, std::string_view id = kCallId) {
  ChatMessage turn = message("tool", text);
  turn.tool_call_id = id;
  return turn;
}

TemplateValue one_tool() {
  const auto text = [](std::string_view value) { return TemplateValue(std::string(value)); };
  const TemplateValue key_type = TemplateDict{{"type", text("string")}, {"description", text("a key")}};
  const TemplateValue parameters = TemplateDict{{"type", text("object")},
                                                {"properties", TemplateDict{{std::string(kKey), key_type}}},
                                                {"required", TemplateList{text(kKey)}}};
  const TemplateValue function =
      TemplateDict{{"name", text(kTool)}, {"description", text(kAbout)}, {"parameters", parameters}};
  return TemplateList{TemplateDict{{"type", text("function")}, {"function", function}}};
}

bool has_all(const std::optional<std::string>& text, std::initializer_list<std::string_view> marks) {
  if (!text) return false;
  for (const std::string_view mark : marks)
    if (text->find(mark) == std::string::npos) return false;
  return true;
}

bool has(const std::optional<std::string>& text, std::string_view mark) { return has_all(text, {mark}); }

/// Whether a content's part is printed as it is: then quotes of Python or of JSON are around its keys.
bool shows_keys(const std::optional<std::string>& text) { return has(text, "'type'") || has(text, "\"type"); }

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

ContentPart picture() { return {.kind = ContentPart::Kind::kPicture}; }

class Probe {
 public:
  Probe(const jinja::Template& chat_template, std::string_view source, const PictureMarks& marks)
      : probe_(chat_template, kProbeBudget), source_(source) {
    caps_.marks = marks;
  }

  Caps run() {
    caps_.format = &tool_format_of(source_, true);
    const Caps unasked = caps_;
    if (!probe_content()) return unasked;
    probe_repeats();
    probe_system();
    probe_tools();
    probe_calls();
    probe_results();
    probe_pictures();
    probe_reasoning();
    probe_parallel();
    probe_order();
    probe_text_beside_calls();
    caps_.takes_prefill = renders({message("user", kUser), message("assistant", kAnswer)},
                                  {kContinueMark.substr(0, kContinueMark.find(' '))},
                                  {.add_generation_prompt = false, .continue_final_message = true});
    return probe_.is_over() ? unasked : caps_;
  }

 private:
  /// Renders a conversation with the caps found so far.
  std::optional<std::string> render(const Messages& messages, const ChatTemplateOptions& options = {}) {
    return probe_.render(messages, caps_, options);
  }

  bool renders(const Messages& messages, std::initializer_list<std::string_view> marks,
               const ChatTemplateOptions& options = {}) {
    return has_all(render(messages, options), marks);
  }

  bool probe_content() {
    const ChatMessage user = message("user", kUser);
    bool is_shown = false;
    for (const bool takes_text : {true, false}) {
      for (const bool empty_tools : {false, true}) {
        if (is_shown) continue;
        caps_.takes_text = takes_text;
        caps_.empty_tools = empty_tools;
        is_shown = renders({user}, {kUser});
      }
    }
    if (!is_shown) return false;
    caps_.takes_parts = true;
    ChatMessage parts = message("user", {});
    parts.parts = {{.text = std::string(kUser)}, {.text = std::string(kUserTwo)}};
    const auto text = render({parts});
    caps_.takes_parts = has_all(text, {kUser, kUserTwo}) && !shows_keys(text);
    return true;
  }

  /// Whether the template writes something for a picture after the last message's text, with the caps found so far.
  bool shows_picture(Messages messages) {
    ChatMessage& last = messages.back();
    last.parts = {{.text = std::exchange(last.content, {})}};
    const auto without = render(messages);
    last.parts.push_back(picture());
    const auto with = render(messages);
    if (!without || !has(with, last.parts.front().text) || shows_keys(with)) return false;
    const std::string_view placeholder = caps_.marks.placeholder;
    return placeholder.empty() ? *with != *without : count(*with, placeholder) == count(*without, placeholder) + 1;
  }

  void probe_pictures() {
    const ChatMessage user = message("user", kUser);
    caps_.takes_pictures = true;
    caps_.takes_pictures = shows_picture({user});
    if (caps_.result_role.empty()) return;
    caps_.takes_result_pictures = true;
    caps_.takes_result_pictures = shows_picture({user, calling(), result()});
  }

  void probe_repeats() {
    caps_.takes_repeats = renders({message("user", kUser), message("user", kUserTwo), message("assistant", kAnswer),
                                   message("assistant", kAnswerTwo), message("user", "Q")},
                                  {kUser, kUserTwo, kAnswer, kAnswerTwo});
  }

  void probe_system() {
    using System = Caps::System;
    const ChatMessage first = message("system", kSystem), second = message("system", kSystemTwo),
                      late = message("system", kSystemLate), user = message("user", kUser);
    caps_.system_alone = renders({first}, {kSystem});
    caps_.system = System::kAnywhere;
    if (renders({first, second, user, message("assistant", kAnswer), late, message("user", kUserTwo)},
                {kSystem, kSystemTwo, kUser, kAnswer, kSystemLate, kUserTwo}))
      return;
    caps_.system = System::kSeveral;
    if (renders({first, second, user}, {kSystem, kSystemTwo, kUser})) return;
    caps_.system = System::kOne;
    if (renders({first, user}, {kSystem, kUser})) return;
    caps_.system = System::kNone;
  }

  void probe_tools() {
    const ChatTemplateOptions options{.tools = one_tool()};
    for (const std::string_view name : {"tools", "xml_tools", "python_tools"}) {
      caps_.tools_name = name;
      if (renders({message("user", kUser)}, {kTool, kAbout}, options) ||
          renders({message("system", kSystem), message("user", kUser)}, {kTool, kAbout}, options))
        return;
    }
    caps_.tools_name = "tools";
    caps_.takes_tools = false;
    caps_.format = &tool_format_of(source_, false);
  }

  bool shows_call() {
    const ChatMessage user = message("user", kUser);
    return renders({user, calling()}, {kTool, kArgument}) || renders({user, calling(), result()}, {kTool, kArgument});
  }

  /// Tries ways of passing a call in turn, up to the first one that the template shows.
  void probe_calls() {
    using Arguments = Caps::Arguments;
    using Empty = Caps::Empty;
    for (const bool short_ids : {false, true}) {
      for (const Empty empty : {Empty::kText, Empty::kNone, Empty::kLeftOut}) {
        for (const Arguments arguments : {Arguments::kDict, Arguments::kText}) {
          caps_.short_ids = short_ids;
          caps_.empty = empty;
          caps_.arguments = arguments;
          if (shows_call()) return probe_arguments();
        }
      }
    }
    caps_.short_ids = false;
    caps_.empty = Empty::kText;
    caps_.arguments = Arguments::kEither;
    caps_.takes_calls = false;
    caps_.takes_parallel = caps_.format->form.is_repeated;
  }

  /// Finds whether arguments are a dict or a text: a dict that is printed as it is has Python's quotes, a text that is
  /// written as JSON has escapes, and one that is written in the place of members has a brace too many.
  void probe_arguments() {
    using Arguments = Caps::Arguments;
    caps_.arguments = Arguments::kEither;
    const auto shows = [&](const TemplateValue& arguments, std::initializer_list<std::string_view> wrong) {
      for (const bool has_result : {false, true}) {
        Messages messages = {message("user", kUser), calling(arguments)};
        if (has_result) messages.push_back(result());
        const auto text = render(messages);
        if (has_all(text, {kKey, kArgument}))
          return std::ranges::none_of(wrong, [&](std::string_view part) { return has(text, part); });
      }
      return false;
    };
    const bool takes_dict = shows(arguments_as_dict(), {"'qkey'"});
    const bool takes_text = shows(arguments_as_text(), {R"(\"qkey\")", R"({{"qkey")"});
    if (takes_dict != takes_text) caps_.arguments = takes_dict ? Arguments::kDict : Arguments::kText;
  }

  bool shows_result(std::string_view role) {
    caps_.result_role = role;
    return renders({message("user", kUser), calling(), result()}, {kResult});
  }

  /// Finds the role of a result. A template that knows nothing of tools and writes any role that it is given knows
  /// none.
  void probe_results() {
    const bool knows_tools = caps_.takes_tools || caps_.takes_calls;
    if (knows_tools || !shows_result(kUnknownRole)) {
      for (const std::string_view role : {"tool", "function", "ipython", "tool_response", "observation"})
        if (shows_result(role)) return;
    }
    caps_.result_role = {};
  }

  /// Whether a thought is rendered as such: a part that is printed as it is has quotes around its type.
  bool renders_thought(const Messages& messages, const ChatTemplateOptions& options) {
    const auto text = render(messages, options);
    return has(text, kThought) && !has(text, "'thinking'") && !has(text, "\"thinking\"");
  }

  bool shows_thought(const TemplateDict& names) {
    const ChatMessage user = message("user", kUser);
    ChatMessage answer = message("assistant", kAnswer);
    answer.reasoning = kThought;
    ChatMessage call = calling();
    call.reasoning = kThought;
    if (renders_thought({user, answer}, {.names = names, .add_generation_prompt = false})) return true;
    if (renders_thought({user, answer, message("user", kUserTwo)}, {.names = names})) return true;
    return caps_.takes_calls && !caps_.result_role.empty() && renders_thought({user, call, result()}, {.names = names});
  }

  void probe_reasoning() {
    using Reasoning = Caps::Reasoning;
    const TemplateDict thinking = {{"enable_thinking", true}, {"thinking", true}, {"preserve_thinking", true}};
    for (const TemplateDict& names : {TemplateDict(), thinking}) {
      for (const std::string_view name : {"reasoning_content", "reasoning", "thinking"}) {
        caps_.reasoning = Reasoning::kName;
        caps_.reasoning_name = name;
        if (shows_thought(names)) return;
      }
    }
    caps_.reasoning = Reasoning::kPart;
    caps_.reasoning_name = {};
    if (!shows_thought({})) caps_.reasoning = Reasoning::kNone;
  }

  /// Finds which messages count where users and assistants must take turns: each order below fits one way of counting.
  void probe_order() {
    probe_least_answer();
    const ChatMessage user = message("user", kUser), user_two = message("user", kUserTwo),
                      answer = message("assistant", kAnswer), answer_two = message("assistant", kAnswerTwo);
    if (!caps_.takes_repeats) {
      const bool counts_calls = renders({user, calling(), result(), user_two, answer}, {kUserTwo, kAnswer});
      const bool counts_none = renders({user, calling(), result(), result(kResultTwo)}, {kResult, kResultTwo});
      caps_.counts_calls = counts_calls || !counts_none;
      caps_.counts_results = !counts_calls && !counts_none;
      caps_.takes_turns = true;
      caps_.takes_turns = renders({answer, user, calling(), result(), user_two, answer_two},
                                  {kAnswer, kUser, kArgument, kResult, kUserTwo, kAnswerTwo});
    }
    if (!renders_without_user()) {
      caps_.needs_user = true;
      caps_.needs_user = renders_without_user();
    }
    caps_.takes_lone_result = caps_.result_role.empty() || renders({user, result()}, {kUser, kResult});
  }

  /// Whether a user's message may lack; tools are given, because some templates put them into the first user's message.
  bool renders_without_user() {
    const ChatTemplateOptions options{.tools = one_tool()};
    return renders({message("assistant", kAnswer)}, {kAnswer}, options) &&
           renders({message("system", kSystem)}, {kSystem}, options);
  }

  /// Finds the least text of an answer: some templates refuse one without a text.
  void probe_least_answer() {
    const Messages messages = {message("user", kUser), message("assistant", {}), message("user", kUserTwo)};
    for (const std::string_view least : {"", " ", "."}) {
      caps_.least_answer = least;
      if (renders(messages, {kUser, kUserTwo})) return;
    }
    caps_.least_answer = {};
  }

  /// Finds whether a text may stand beside calls: some templates lose the text or the calls, or refuse both, but take
  /// the two one after the other.
  void probe_text_beside_calls() {
    if (!caps_.takes_calls) return;
    ChatMessage both = calling(arguments_as_dict(), kAnswer);
    if (caps_.reasoning != Caps::Reasoning::kNone) both.reasoning = kThought;
    Messages messages = {message("user", kUser), both};
    if (!caps_.result_role.empty()) messages.push_back(result());
    messages.push_back(message("assistant", kAnswerTwo));
    messages.push_back(message("user", kUserTwo));
    if (renders(messages, {kAnswer, kTool, kArgument})) return;
    caps_.calls_alone = true;
    caps_.calls_alone = renders(messages, {kAnswer, kTool, kArgument, kAnswerTwo});
  }

  /// Finds whether a message may have several calls: some templates lose one of two, or refuse them.
  void probe_parallel() {
    if (!caps_.takes_calls || caps_.result_role.empty()) return;
    ChatMessage both = calling();
    both.tool_calls.push_back(call(arguments_as_dict(kArgumentTwo), kCallIdTwo));
    const Messages messages = {message("user", kUser), both, result(), result(kResultTwo, kCallIdTwo)};
    if (renders(messages, {kArgument, kArgumentTwo, kResult, kResultTwo})) return;
    caps_.takes_parallel = false;
    caps_.takes_parallel = !renders(messages, {kArgument, kArgumentTwo, kResult, kResultTwo});
  }

  TemplateProbe probe_;
  const std::string_view source_;
  Caps caps_;
};

}  // namespace

TemplateCaps probe_caps(const jinja::Template& chat_template, std::string_view source, const PictureMarks& marks) {
  return Probe(chat_template, source, marks).run();
}

}  // namespace octavo
