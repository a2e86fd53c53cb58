#include "chat/conversation.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/to_size.h"
#include "chat/described_tools.h"
#include "chat/turn_order.h"
#include "chat/written_calls.h"

namespace octavo {

namespace {

using jinja::Origin;
using jinja::TextRun;
using Caps = TemplateCaps;

constexpr std::string_view kBreak = "\n\n";    // between texts that are joined
constexpr std::string_view kPartBreak = "\n";  // between parts of one content
// A tool's result as a user's text: "Result of NAME:", the result, and behind the last one what is to be done with it,
// without which small models repeat the result.
constexpr std::string_view kResult = "Result", kOfTool = " of ", kResultBegins = ":\n";
constexpr std::string_view kGoOn = "\n\nGo on: call the next tool, or answer.";

/// The role by which templates know a message's role.
std::string_view known_role(std::string_view role) {
  if (role == "developer") return "system";
  return role == "function" ? "tool" : role;
}

Origin origin_of(std::string_view role) {
  if (role == "system") return Origin::kSystem;
  if (role == "assistant") return Origin::kModel;
  return role == "tool" ? Origin::kTool : Origin::kUser;
}

/// Appends the parts of `more` to those of `turn`, which is a list where there is a picture among them.
void append_parts(ShapedMessage& turn, std::vector<ShapedPart> more) {
  if (turn.is_list) {
    turn.parts.insert(turn.parts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return;
  }
  TextRuns& text = turn.parts.front().text;
  for (const ShapedPart& part : more) {
    if (!text.empty()) text.push_back({kBreak, text.back().origin});
    text.insert(text.end(), part.text.begin(), part.text.end());
  }
}

/// The text of the last part, or of a new one after a picture.
TextRuns& last_text(ShapedMessage& turn) {
  if (turn.parts.back().is_picture) turn.parts.emplace_back();
  return turn.parts.back().text;
}

bool is_picture_part(const ShapedPart& part) { return part.is_picture; }

class Shaper {
 public:
  explicit Shaper(const Caps& caps) : caps_(caps) {}

  Result<ShapedConversation> shape(std::span<const ChatMessage> messages, const ChatTemplateOptions& options) {
    turns_.reserve(messages.size() + 1);
    if (options.describe_tools && !caps_.takes_tools && has_tools(options)) {
      OCTAVO_TRY(auto described, describe_tools(options.tools, *caps_.format));
      keep(std::move(described), tools_);
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const ChatMessage& message = messages[i];
      const std::string_view role = known_role(message.role);
      if (role != "tool" && role != "system") flush_calls();
      if (role != "system") place_tools();
      if (role == "system") {
        add_system(message);
      } else if (role == "tool") {
        OCTAVO_TRY_VOID(add_result(message, i));
      } else if (role == "assistant") {
        OCTAVO_TRY_VOID(add_answer(message, i));
      } else {
        add_other(message, role);
      }
    }
    flush_calls();
    place_tools();
    flush_waiting();
    if (!has_begun_ && !caps_.system_alone && !turns_.empty()) turns_.back().role = "user";
    ask_to_go_on();
    mend_order(turns_, caps_, options.continue_final_message);
    return ShapedConversation{std::move(turns_), std::move(written_)};
  }

 private:
  /// A message as a turn. `takes_pictures`: its pictures stay where they are.
  ShapedMessage make_turn(const ChatMessage& message, std::string_view role, bool takes_pictures = false) const {
    const Origin origin = origin_of(role);
    const bool keeps_pictures = takes_pictures && has_pictures(message);
    ShapedMessage turn{.role = role, .parts = {}, .name = message.name};
    TextRuns marks = keeps_pictures || role == "system" ? TextRuns() : marks_of(message);
    if (message.parts.empty()) {
      turn.parts.push_back({{{message.content, origin}}});
      turn.is_list = !caps_.takes_text;
    } else if (!caps_.takes_text || keeps_pictures || (caps_.takes_parts && role == "user")) {
      turn.is_list = true;
      if (!marks.empty()) turn.parts.push_back({std::move(marks)});
      for (const ContentPart& part : message.parts) {
        if (!is_picture(part)) turn.parts.push_back({{{text_of(part), origin}}});
        if (is_picture(part) && keeps_pictures) turn.parts.push_back({.is_picture = true});
      }
    } else {
      TextRuns joined;
      for (const ContentPart& part : message.parts) {
        if (is_picture(part)) continue;
        if (!joined.empty()) joined.push_back({kPartBreak, origin});
        joined.push_back({text_of(part), origin});
      }
      joined.insert(joined.begin(), marks.begin(), marks.end());
      turn.parts.push_back({std::move(joined)});
    }
    if (turn.parts.empty()) turn.parts.push_back({{{{}, origin}}});
    return turn;
  }

  /// The marks that stand for a message's pictures.
  TextRuns marks_of(const ChatMessage& message) const {
    const auto count = std::ranges::count_if(message.parts, is_picture);
    return {to_size(count), {caps_.marks.place, Origin::kTemplate}};
  }

  /// Appends texts that the library wrote itself to `text`.
  void keep(std::vector<jinja::RenderedSpan> spans, TextRuns& text) {
    for (jinja::RenderedSpan& span : spans) {
      written_.push_back(std::move(span.text));
      text.push_back({written_.back(), span.origin});
    }
  }

  /// Puts the description of the tools after the system messages at the front.
  void place_tools() {
    if (tools_.empty()) return;
    TextRuns text = std::exchange(tools_, {});
    if (caps_.system == Caps::System::kNone) {
      waiting_.push_back({std::move(text)});
    } else if (turns_.empty()) {
      turns_.push_back({.role = "system", .parts = {{std::move(text)}}, .is_list = !caps_.takes_text});
    } else {
      append_parts(turns_.back(), {{std::move(text)}});
    }
  }

  /// Keeps a system message's pictures for the next user's message, because templates refuse them in a system message.
  void wait_for_user(const ChatMessage& message) {
    if (!has_pictures(message)) return;
    has_waiting_pictures_ = true;
    if (!caps_.takes_pictures) waiting_.push_back({marks_of(message)});
    for (const ContentPart& part : message.parts)
      if (is_picture(part) && caps_.takes_pictures) waiting_.push_back({.is_picture = true});
  }

  void add_system(const ChatMessage& message) {
    ShapedMessage turn = make_turn(message, "system");
    const bool fits = caps_.system == Caps::System::kAnywhere || (caps_.system != Caps::System::kNone && !has_begun_);
    wait_for_user(message);
    if (!turn.has_content() && has_pictures(message)) return;
    if (!fits) {
      std::ranges::move(turn.parts, std::back_inserter(waiting_));
    } else if (caps_.system == Caps::System::kOne && !turns_.empty()) {
      append_parts(turns_.front(), std::move(turn.parts));
    } else {
      (follows_call() ? late_systems_ : turns_).push_back(std::move(turn));
    }
  }

  void add_other(const ChatMessage& message, std::string_view role) {
    ShapedMessage turn = make_turn(message, role, caps_.takes_pictures && role == "user");
    if (role == "user" && !waiting_.empty()) {
      ShapedMessage first = take_waiting();
      if (turn.is_list && !first.is_list) first = as_list(std::move(first));
      append_parts(first, std::move(turn.parts));
      first.name = turn.name;
      turn = std::move(first);
    }
    push(std::move(turn));
  }

  Result<void> add_answer(const ChatMessage& message, std::size_t index) {
    flush_waiting();
    ShapedMessage turn = make_turn(message, "assistant");
    for (const ToolCall& call : message.tool_calls) names_of_calls_[call.id] = call.name;
    turn.calls = message.tool_calls;
    if (caps_.calls_alone && !turn.calls.empty() && turn.has_content()) {
      ShapedMessage text = turn;
      text.calls = {};
      push(std::move(text));
      turn.parts = {{{{{}, Origin::kModel}}}};
    }
    turn.reasoning = message.reasoning;
    if (caps_.takes_parallel || turn.calls.size() < 2) {
      OCTAVO_TRY_VOID(put_calls_as_text(turn, index));
      push(std::move(turn));
      return {};
    }
    return begin_calls(turn, index);
  }

  /// Writes the calls after the text where the template has no form for them.
  Result<void> put_calls_as_text(ShapedMessage& turn, std::size_t index) {
    if (caps_.takes_calls || turn.calls.empty()) return {};
    auto spans = write_calls(*caps_.format, turn.calls);
    if (!spans) return fail("messages[{}]: {}", index, spans.error().message);
    TextRuns& text = last_text(turn);
    if (turn.has_content()) text.push_back({kPartBreak, Origin::kTemplate});
    keep(std::move(*spans), text);
    turn.calls = {};
    return {};
  }

  /// A call that gets a message of its own, with its results.
  struct SeparateCall {
    ShapedMessage turn;
    std::vector<ShapedMessage> results;
  };

  Result<void> begin_calls(const ShapedMessage& turn, std::size_t index) {
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      ShapedMessage one = turn;
      one.calls = turn.calls.subspan(i, 1);
      if (i > 0) {
        one.parts = {{{{{}, Origin::kModel}}}};
        one.reasoning = {};
      }
      OCTAVO_TRY_VOID(put_calls_as_text(one, index));
      places_.emplace(turn.calls[i].id, i);
      separate_.push_back({std::move(one), {}});
    }
    return {};
  }

  /// Writes the calls and their results, then the system messages that came between them.
  void flush_calls() {
    for (SeparateCall& call : separate_) {
      push(std::move(call.turn));
      for (ShapedMessage& result : call.results) push(std::move(result));
    }
    separate_.clear();
    places_.clear();
    last_place_ = 0;
    std::ranges::move(late_systems_, std::back_inserter(turns_));
    late_systems_.clear();
  }

  Result<void> add_result(const ChatMessage& message, std::size_t index) {
    const bool is_text = caps_.result_role.empty() || (!caps_.takes_lone_result && !follows_call());
    ShapedMessage turn = make_turn(message, "tool", is_text ? caps_.takes_pictures : caps_.takes_result_pictures);
    if (turn.name.empty()) {
      if (const auto found = names_of_calls_.find(message.tool_call_id); found != names_of_calls_.end())
        turn.name = found->second;
    }
    if (is_text) {
      put_result_as_text(turn);
    } else {
      turn.role = caps_.result_role;
      turn.call_id = message.tool_call_id;
    }
    const auto found = places_.find(message.tool_call_id);
    const std::size_t place = found != places_.end() ? found->second : separate_.empty() ? 0 : separate_.size() - 1;
    if (has_pictures(message)) OCTAVO_TRY_VOID(keep_order_of_pictures(place, index));
    if (separate_.empty()) {
      push(std::move(turn));
    } else {
      separate_[place].results.push_back(std::move(turn));
    }
    return {};
  }

  /// Checks that the n-th picture in the prompt is the n-th of the conversation. `place`: the index of the result's
  /// call in separate_.
  Result<void> keep_order_of_pictures(std::size_t place, std::size_t index) {
    if (has_waiting_pictures_)
      return fail(
          "messages[{}]: found a picture in a tool's result behind one in a system message, which becomes the next "
          "user's; expected the user's message between them",
          index);
    if (place < last_place_)
      return fail(
          "messages[{}]: found a picture in a tool's result behind one in the result of a later call, expected results "
          "in the order of their calls: the chat template takes one call a message",
          index);
    last_place_ = place;
    return {};
  }

  /// Whether a result that comes now follows calls, or other results of them.
  bool follows_call() const { return !separate_.empty() || follows_call_; }

  static void put_result_as_text(ShapedMessage& turn) {
    TextRuns head = {{kResult, Origin::kTemplate}};
    if (!turn.name.empty()) {
      head.push_back({kOfTool, Origin::kTemplate});
      head.push_back({turn.name, Origin::kTool});
    }
    head.push_back({kResultBegins, Origin::kTemplate});
    if (turn.parts.front().is_picture) turn.parts.emplace(turn.parts.begin());
    TextRuns& text = turn.parts.front().text;
    text.insert(text.begin(), head.begin(), head.end());
    turn.role = "user";
    turn.name = {};
    turn.is_result = true;
  }

  void ask_to_go_on() {
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      const bool user_follows = i + 1 < turns_.size() && turns_[i + 1].role == "user";
      if (turns_[i].is_result && !user_follows) last_text(turns_[i]).push_back({kGoOn, Origin::kTemplate});
    }
  }

  static ShapedMessage as_list(ShapedMessage turn) {
    turn.is_list = true;
    return turn;
  }

  ShapedMessage take_waiting() {
    ShapedMessage turn{.role = "user", .parts = {}};
    turn.is_list = !caps_.takes_text || std::ranges::any_of(waiting_, is_picture_part);
    if (!turn.is_list) turn.parts.emplace_back();
    append_parts(turn, std::exchange(waiting_, {}));
    has_waiting_pictures_ = false;
    return turn;
  }

  /// Writes the waiting system messages, which no user's message follows, as one user's message.
  void flush_waiting() {
    if (!waiting_.empty()) push(take_waiting());
  }

  void push(ShapedMessage turn) {
    has_begun_ = true;
    follows_call_ = !turn.calls.empty() || turn.role == caps_.result_role;
    const bool is_repeat = !turns_.empty() && turns_.back().role == turn.role && turn.role != caps_.result_role;
    const bool are_results = is_repeat && turn.is_result && turns_.back().is_result;
    const bool may_repeat = caps_.takes_repeats && !are_results;
    if (may_repeat || !is_repeat || !may_join(turn)) {
      reasoning_ = nullptr;
      turns_.push_back(std::move(turn));
      return;
    }
    ShapedMessage& last = turns_.back();
    last.is_result = are_results;
    if (turn.is_list) last = as_list(std::move(last));
    if (turn.has_content() || turn.calls.empty()) append_parts(last, std::move(turn.parts));
    last.calls = turn.calls;
    append_reasoning(last, turn.reasoning);
  }

  /// Whether a turn may be joined to the last one, which has its role: nothing is joined to a turn with calls.
  bool may_join(const ShapedMessage& turn) const {
    return turns_.back().calls.empty() && (turn.calls.empty() || !caps_.calls_alone);
  }

  void append_reasoning(ShapedMessage& last, std::string_view more) {
    if (more.empty()) return;
    if (last.reasoning.empty()) {
      last.reasoning = more;
      return;
    }
    if (reasoning_ == nullptr) reasoning_ = &written_.emplace_back(last.reasoning);
    *reasoning_ += kBreak;
    *reasoning_ += more;
    last.reasoning = *reasoning_;
  }

  const Caps& caps_;
  std::vector<ShapedMessage> turns_;
  std::deque<std::string> written_;
  TextRuns tools_;                   // the description of the tools, until it has its place
  std::vector<ShapedPart> waiting_;  // parts of system messages, for the next user's message
  bool has_waiting_pictures_ = false;
  bool has_begun_ = false;            // whether something else than a system message has come
  bool follows_call_ = false;         // whether the last turn that is no system message calls, or is a result
  std::string* reasoning_ = nullptr;  // in written_: the last turn's, joined from several messages
  std::unordered_map<std::string_view, std::string_view> names_of_calls_;  // names by ids of calls
  std::vector<ShapedMessage> late_systems_;                   // system messages after calls, whose results may follow
  std::vector<SeparateCall> separate_;                        // the last message's calls, not written yet
  std::unordered_map<std::string_view, std::size_t> places_;  // the indexes in separate_ by ids of calls
  std::size_t last_place_ = 0;                                // the index of the last one with a picture
};

}  // namespace

bool ShapedMessage::has_content() const {
  return std::ranges::any_of(parts, [](const ShapedPart& part) {
    return part.is_picture || std::ranges::any_of(part.text, [](const TextRun& run) { return !run.text.empty(); });
  });
}

std::string_view text_of(const ContentPart& part) {
  switch (part.kind) {
    case ContentPart::Kind::kText: return part.text;
    case ContentPart::Kind::kPicture: return {};
  }
  OCTAVO_CHECK(false, "content part of kind {}", static_cast<int>(part.kind));
}

bool is_picture(const ContentPart& part) { return part.kind == ContentPart::Kind::kPicture; }

bool has_pictures(const ChatMessage& message) { return std::ranges::any_of(message.parts, is_picture); }

bool has_tools(const ChatTemplateOptions& options) {
  const auto* list = std::get_if<TemplateList>(&options.tools);
  return list != nullptr ? !list->empty() : !std::holds_alternative<std::monostate>(options.tools);
}

Result<ShapedConversation> shape_conversation(std::span<const ChatMessage> messages, const TemplateCaps& caps,
                                              const ChatTemplateOptions& options) {
  return Shaper(caps).shape(messages, options);
}

}  // namespace octavo
