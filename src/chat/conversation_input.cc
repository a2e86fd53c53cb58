// The values of a shaped conversation, for the template.
#include <utility>
#include <variant>

#include "base/ascii.h"
#include "base/error.h"
#include "chat/conversation.h"
#include "chat/input_value.h"
#include "json/json_text.h"

namespace octavo {

namespace {

using jinja::Origin;
using jinja::TemplateInput;
using jinja::Value;
using Caps = TemplateCaps;
using Entries = std::vector<std::pair<Value, Value>>;

constexpr std::size_t kShortIdBytes = 9;
constexpr std::string_view kTools = "tools";

/// Some templates write a role between the halves of a control token. So the roles that everybody uses are as good as
/// the template's own words; any other is the sender's text.
Origin origin_of_role(std::string_view role) {
  for (const std::string_view known : {"system", "user", "assistant", "tool"})
    if (role == known) return Origin::kTemplate;
  return Origin::kUser;
}

Origin origin_of_turn(const ShapedMessage& turn) {
  if (turn.role == "assistant") return Origin::kModel;
  if (turn.role == "system") return Origin::kSystem;
  return turn.role == "user" ? Origin::kUser : Origin::kTool;
}

/// The last nine letters and digits of an id, with zeros before them where there are fewer: vLLM's rule.
std::string short_id(std::string_view id) {
  std::string kept(kShortIdBytes, '0');
  std::size_t at = kept.size();
  for (auto c = id.rbegin(); c != id.rend() && at > 0; ++c)
    if (is_letter_or_digit(*c)) kept[--at] = *c;
  return kept;
}

class InputBuilder {
 public:
  InputBuilder(TemplateInput& input, const Caps& caps) : input_(input), caps_(caps) {}

  Result<Value> value_of(const TemplateValue& value, Origin origin) {
    return input_value(input_, value, origin, values_left_);
  }

  Result<Value> value_of(const ShapedMessage& turn) {
    const Origin origin = origin_of_turn(turn);
    Entries entries = {{key("role"), input_.text(turn.role, origin_of_role(turn.role))}};
    if (const auto content = content_of(turn)) entries.emplace_back(key("content"), *content);
    if (!turn.reasoning.empty() && caps_.reasoning == Caps::Reasoning::kName)
      entries.emplace_back(key(caps_.reasoning_name), input_.text(turn.reasoning, origin));
    if (!turn.calls.empty()) {
      std::vector<Value> calls;
      for (const ToolCall& call : turn.calls) {
        OCTAVO_TRY(calls.emplace_back(), value_of(call));
      }
      entries.emplace_back(key("tool_calls"), input_.list(calls));
    }
    const bool is_result = turn.role == caps_.result_role;
    if (is_result && (caps_.short_ids || !turn.call_id.empty()))
      entries.emplace_back(key("tool_call_id"), id_of(turn.call_id, origin));
    if (!turn.name.empty()) entries.emplace_back(key("name"), input_.text(turn.name, origin));
    return input_.dict(entries);
  }

 private:
  Value key(std::string_view name) { return input_.text(name, Origin::kTemplate); }

  Value id_of(std::string_view id, Origin origin) {
    return caps_.short_ids ? input_.text(short_id(id), origin) : input_.text(id, origin);
  }

  /// A part of a content that is a list of parts.
  Value part_of(std::string_view type, const Value& text) {
    const Entries entries = {{key("type"), key(type)}, {key(type), text}};
    return input_.dict(entries);
  }

  Value part_of(const ShapedPart& part) {
    if (!part.is_picture) return part_of("text", input_.text(part.text));
    const Entries entries = {{key("type"), key("image")}};
    return input_.dict(entries);
  }

  std::optional<Value> content_of(const ShapedMessage& turn) {
    const bool is_empty = !turn.has_content();
    if (is_empty && !turn.calls.empty() && caps_.empty == Caps::Empty::kLeftOut) return std::nullopt;
    if (is_empty && !turn.calls.empty() && caps_.empty == Caps::Empty::kNone) return Value::none();
    const bool has_reasoning = !turn.reasoning.empty() && caps_.reasoning == Caps::Reasoning::kPart;
    if (!turn.is_list && !has_reasoning) return input_.text(turn.parts.front().text);
    std::vector<Value> parts;
    if (has_reasoning) parts.push_back(part_of("thinking", input_.text(turn.reasoning, Origin::kModel)));
    for (const ShapedPart& part : turn.parts)
      if (!is_empty || !has_reasoning) parts.push_back(part_of(part));
    return input_.list(parts);
  }

  Result<Value> arguments_of(const ToolCall& call) {
    const auto* text = std::get_if<std::string>(&call.arguments);
    if (text != nullptr && caps_.arguments == Caps::Arguments::kDict)
      return value_of(arguments_dict(call.arguments, values_left_), Origin::kModel);
    if (text == nullptr && caps_.arguments == Caps::Arguments::kText)
      return input_.text(write_json(call.arguments), Origin::kModel);
    return value_of(call.arguments, Origin::kModel);
  }

  Result<Value> value_of(const ToolCall& call) {
    OCTAVO_TRY(const Value arguments, arguments_of(call));
    const Entries function = {{key("name"), input_.text(call.name, Origin::kModel)}, {key("arguments"), arguments}};
    Entries entries;
    if (caps_.short_ids || !call.id.empty()) entries.emplace_back(key("id"), id_of(call.id, Origin::kModel));
    entries.emplace_back(key("type"), key("function"));
    entries.emplace_back(key("function"), input_.dict(function));
    return input_.dict(entries);
  }

  TemplateInput& input_;
  const Caps& caps_;
  std::size_t values_left_ = kMaxInputValues;
};

ShapedMessage with_mark(ShapedMessage turn) {
  if (turn.parts.back().is_picture) turn.parts.push_back({{{{}, Origin::kTemplate}}});
  TextRuns& text = turn.parts.back().text;
  text.push_back({kContinueMark, text.back().origin});
  return turn;
}

}  // namespace

Result<TemplateInput> conversation_input(const ShapedConversation& conversation, const TemplateCaps& caps,
                                         const NamedTokens& tokens, const ChatTemplateOptions& options) {
  if (options.continue_final_message && options.add_generation_prompt) {
    return fail(
        "found continue_final_message and add_generation_prompt both true, expected one of them: the last message goes "
        "on, or a new one begins");
  }
  TemplateInput input;
  InputBuilder builder(input, caps);
  std::vector<Value> values;
  const std::vector<ShapedMessage>& turns = conversation.turns;
  values.reserve(turns.size());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const bool goes_on = options.continue_final_message && i + 1 == turns.size();
    OCTAVO_TRY(values.emplace_back(), builder.value_of(goes_on ? with_mark(turns[i]) : turns[i]));
  }
  input.set("messages", input.list(values));
  const bool shows_tools = caps.takes_tools && has_tools(options);
  const bool is_renamed = shows_tools && caps.tools_name != kTools;
  const TemplateValue no_tools = caps.empty_tools ? TemplateValue(TemplateList()) : TemplateValue();
  OCTAVO_TRY(const Value tools, builder.value_of(shows_tools && !is_renamed ? options.tools : no_tools, Origin::kTool));
  input.set(kTools, tools);
  if (is_renamed) {
    OCTAVO_TRY(const Value renamed, builder.value_of(options.tools, Origin::kTool));
    input.set(caps.tools_name, renamed);
  }
  input.set("documents", Value::none());
  input.set("add_generation_prompt", Value::boolean(options.add_generation_prompt));
  if (tokens.bos) input.set("bos_token", input.text(*tokens.bos, Origin::kTemplate));
  if (tokens.eos) input.set("eos_token", input.text(*tokens.eos, Origin::kTemplate));
  for (const auto& [name, value] : options.names) {
    OCTAVO_TRY(const Value made, builder.value_of(value, Origin::kUser));
    input.set(name, made);
  }
  return input;
}

}  // namespace octavo
