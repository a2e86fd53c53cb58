#include "tokenizer/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/error.h"

namespace octavo {

namespace {

using jinja::Origin;
using jinja::Value;

constexpr std::string_view kWayRound = "octavo run --raw gives the text to the model as it is";

/// The origin of what a message of a role says.
Origin origin_of(std::string_view role) {
  if (role == "system" || role == "developer") return Origin::kSystem;
  if (role == "assistant") return Origin::kModel;
  return role == "tool" ? Origin::kTool : Origin::kUser;
}

/// Some templates write a role between the halves of a control token. So the roles that everybody uses are as good as
/// the template's own words; any other is the sender's text.
bool is_known_role(std::string_view role) {
  constexpr std::array<std::string_view, 5> kRoles = {"system", "user", "assistant", "tool", "developer"};
  return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
}

Value value_of(jinja::TemplateInput& input, const ChatMessage& message) {
  const auto key = [&input](std::string_view name) { return input.text(name, Origin::kTemplate); };
  const Origin origin = origin_of(message.role);
  const std::array<std::pair<Value, Value>, 2> entries = {
      {{key("role"), input.text(message.role, is_known_role(message.role) ? Origin::kTemplate : origin)},
       {key("content"), input.text(message.content, origin)}}};
  return input.dict(entries);
}

Value value_of(jinja::TemplateInput& input, const TemplateValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return Value::boolean(*flag);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Value::integer(*integer);
  if (const auto* real = std::get_if<double>(&value)) return Value::real(*real);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? Value::none() : input.text(*text, Origin::kUser);
}

}  // namespace

Result<ChatTemplate> ChatTemplate::load(const ModelSource& source, std::string_view instead) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  const bool is_own = instead.empty();
  const std::string name = is_own ? fmt::format("{}: {}", source.name(), kKey) : "the chat template given instead";
  std::string_view jinja = instead;
  if (is_own) {
    const auto own = source.get_string(kKey);
    if (!own) return fail("{} is missing, so this model has no form for a conversation; {}", name, kWayRound);
    jinja = *own;
  }
  if (jinja.size() > jinja::Template::kMaxBytes) {
    return fail("{} has {} bytes, expected at most {}; {}", name, jinja.size(), jinja::Template::kMaxBytes, kWayRound);
  }
  auto compiled = jinja::Template::compile(jinja);
  if (!compiled) return fail("{} is not a template: {}; {}", name, compiled.error().message, kWayRound);
  return ChatTemplate(std::move(*compiled), name);
}

Result<std::vector<PromptPart>> ChatTemplate::render(std::span<const ChatMessage> messages, const NamedTokens& tokens,
                                                     std::span<const std::pair<std::string, TemplateValue>> names,
                                                     const std::tm& now) const {
  jinja::TemplateInput input;
  std::vector<Value> values;
  values.reserve(messages.size());
  for (const ChatMessage& message : messages) values.push_back(value_of(input, message));
  input.set("messages", input.list(values));
  input.set("tools", Value::none());
  input.set("documents", Value::none());
  input.set("add_generation_prompt", Value::boolean(true));
  if (tokens.bos) input.set("bos_token", input.text(*tokens.bos, Origin::kTemplate));
  if (tokens.eos) input.set("eos_token", input.text(*tokens.eos, Origin::kTemplate));
  for (const auto& [name, value] : names) input.set(name, value_of(input, value));
  auto spans = template_.render(input, now);
  if (!spans) return fail("{}: {}", name_, spans.error().message);
  std::vector<PromptPart> parts;
  parts.reserve(spans->size());
  for (jinja::RenderedSpan& span : *spans) parts.push_back({std::move(span.text), span.origin == Origin::kTemplate});
  return parts;
}

}  // namespace octavo
