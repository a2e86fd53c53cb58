#include "chat/thinking_switch.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "chat/template_probe.h"

namespace octavo {

namespace {

using jinja::Origin;

/// The known ways. The first one that makes a template write two different prompts is its switch.
constexpr ThinkingWay kWays[] = {
    {kThinkingName, "true", "false"},
    {"thinking", "true", "false"},
    {"enable_reasoning", "true", "false"},
    {"reasoning", "true", "false"},
    {"think", "true", "false"},
    {"thinking_mode", "enabled", "disabled"},
    {"thinking_mode", "thinking", "chat"},
    {"thinking_mode", "on", "off"},
    {"thinking_option", "on", "off"},
    {"reasoning_mode", "on", "off"},
    {"thinking_budget", "-1", "0"},
    {kEffortName, "high", kNoEffort},
    {kEffortName, "high", "no_think"},
    {"thinking_effort", "high", kNoEffort},
    {"", "/think", "/no_think"},
    {"", "detailed thinking on", "detailed thinking off"},
};
constexpr std::string_view kEffortNames[] = {kEffortName, "thinking_effort"};
constexpr std::string_view kLevels[] = {kNoEffort, "minimal", "low", "medium", "high", "xhigh", "max"};

// A few times what one rendering may take.
constexpr jinja::Budget kProbeBudget{.bytes = std::size_t{96} << 20, .steps = 1'500'000};

// Texts that no template writes.
constexpr std::string_view kSystem = "Qsysa ", kUser = "Qusera", kUnknown = "Qlevel";

TemplateValue value_of(std::string_view word) {
  if (word == "true" || word == "false") return word == "true";
  if (word == "0" || word == "-1") return std::int64_t{word == "0" ? 0 : -1};
  return std::string(word);
}

const TemplateValue* find_name(const TemplateDict& names, std::string_view name) {
  const auto found = std::ranges::find(names, name, &TemplateDict::value_type::first);
  return found == names.end() ? nullptr : &found->second;
}

void set_name(TemplateDict& names, std::string_view name, TemplateValue value) {
  std::erase_if(names, [&](const auto& known) { return known.first == name; });
  names.emplace_back(name, std::move(value));
}

/// Whether the template's names turn thinking on; the one that requests set goes before the others.
std::optional<bool> thinking_in(const TemplateDict& names) {
  const TemplateValue* first = find_name(names, kThinkingName);
  std::optional<bool> said = first == nullptr ? std::nullopt : thinking_said_by(kThinkingName, *first);
  for (const auto& [name, value] : names)
    if (!said) said = thinking_said_by(name, value);
  return said;
}

std::string without(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
  return text;
}

}  // namespace

std::optional<bool> thinking_said_by(std::string_view name, const TemplateValue& value) {
  const bool is_text = std::holds_alternative<std::string>(value);
  for (const ThinkingWay& way : kWays) {
    if (way.name != name || name.empty()) continue;
    if (value == value_of(way.off)) return false;
    const bool is_effort = is_text && std::ranges::find(kEffortNames, name) != std::end(kEffortNames);
    if (!is_effort && value == value_of(way.on)) return true;
  }
  return std::nullopt;
}

/// Finds out what a template reads about thinking.
class ThinkingProbe {
 public:
  ThinkingProbe(const jinja::Template& chat_template, const TemplateCaps& caps, std::string_view source)
      : probe_(chat_template, kProbeBudget), caps_(caps), source_(source) {}

  ThinkingSwitch run() {
    for (const ThinkingWay& way : kWays) {
      if (found_.way_ == nullptr && turns(way)) found_.way_ = &way;
    }
    for (const std::string_view name : kEffortNames)
      if (found_.efforts_.empty() && source_.contains(name)) find_levels(name);
    return std::move(found_);
  }

 private:
  std::optional<std::string> render(const TemplateDict& names, std::string_view system = {}) {
    std::vector<ChatMessage> messages;
    if (!system.empty()) messages.push_back({.role = "system", .content = std::string(system)});
    messages.push_back({.role = "user", .content = std::string(kUser)});
    return probe_.render(messages, caps_, {.names = names});
  }

  std::optional<std::string> render_with(std::string_view name, std::string_view word) {
    return render({{std::string(name), value_of(word)}});
  }

  bool turns(const ThinkingWay& way) {
    if (way.name.empty())
      return caps_.system != TemplateCaps::System::kNone && source_.contains(way.off) && turns_by_word(way);
    if (!source_.contains(way.name)) return false;
    const auto on = render_with(way.name, way.on), off = render_with(way.name, way.off);
    if (!on || !off || *on == *off) return false;
    if (!std::holds_alternative<std::string>(value_of(way.off))) return true;
    // A template that writes any value unchanged does not know this name.
    const auto unknown = render_with(way.name, kUnknown);
    return !unknown || without(*unknown, kUnknown) != without(*off, way.off);
  }

  bool turns_by_word(const ThinkingWay& way) {
    const auto with_word = [&](std::string_view word) { return render({}, std::string(kSystem).append(word)); };
    const auto on = with_word(way.on), off = with_word(way.off);
    return on && off && without(*on, way.on) != without(*off, way.off);
  }

  void find_levels(std::string_view name) {
    TemplateDict names;
    const ThinkingWay* way = found_.way_;
    if (way != nullptr && !way->name.empty() && way->name != name) names.emplace_back(way->name, value_of(way->on));
    std::vector<std::string_view> taken;
    std::optional<std::string> first;
    bool differ = false;
    for (const std::string_view level : kLevels) {
      set_name(names, name, std::string(level));
      auto text = render(names);
      if (text) taken.push_back(level);
      if (level == kNoEffort) continue;
      if (level != kLevels[1]) differ = differ || text != first;
      first = std::move(text);
    }
    if (!differ || taken.empty()) return;
    found_.effort_name_ = name;
    found_.efforts_ = std::move(taken);
  }

  TemplateProbe probe_;
  const TemplateCaps& caps_;
  const std::string_view source_;
  ThinkingSwitch found_ = {};
};

ThinkingSwitch ThinkingSwitch::find(const jinja::Template& chat_template, const TemplateCaps& caps,
                                    std::string_view source) {
  return ThinkingProbe(chat_template, caps, source).run();
}

std::optional<TemplateDict> ThinkingSwitch::translate(const TemplateDict& names) const {
  TemplateDict made = names;
  const TemplateValue* given = find_name(names, kEffortName);
  const auto* const level = given == nullptr ? nullptr : std::get_if<std::string>(given);
  const bool is_level = level != nullptr && std::ranges::find(kLevels, *level) != std::end(kLevels);
  const bool is_taken = is_level && std::ranges::find(efforts_, *level) != efforts_.end();
  if (is_taken && effort_name_ != kEffortName && find_name(names, effort_name_) == nullptr)
    set_name(made, effort_name_, *level);
  // A level that the template refuses would make the request fail, so it is left out.
  if (is_level && !is_taken && effort_name_ == kEffortName)
    std::erase_if(made, [](const auto& name) { return name.first == kEffortName; });
  if (const auto thinks = thinking_in(names); thinks && way_ != nullptr && !way_->name.empty()) {
    // A name that comes from elsewhere, such as the server's options, may say the opposite: it is left out.
    std::erase_if(made, [&](const auto& name) { return thinking_said_by(name.first, name.second) == !*thinks; });
    const bool has_level = *thinks && way_->name == effort_name_ && find_name(made, effort_name_) != nullptr;
    const TemplateValue value = value_of(*thinks ? way_->on : way_->off);
    const TemplateValue* own = find_name(made, way_->name);
    if (!has_level && (own == nullptr || *own != value)) set_name(made, way_->name, value);
  }
  if (made == names) return std::nullopt;
  return made;
}

void ThinkingSwitch::add_word(const TemplateDict& names, ShapedConversation& conversation) const {
  const auto thinks = thinking_in(names);
  if (!thinks || way_ == nullptr || !way_->name.empty()) return;
  const std::string_view word = *thinks ? way_->on : way_->off;
  std::vector<ShapedMessage>& turns = conversation.turns;
  if (!turns.empty() && turns.front().role == "system" && !turns.front().parts.empty()) {
    TextRuns& text = turns.front().parts.back().text;
    if (!text.empty()) text.push_back({"\n", Origin::kTemplate});
    text.push_back({word, Origin::kTemplate});
    return;
  }
  turns.insert(turns.begin(), ShapedMessage{.role = "system", .parts = {{{{word, Origin::kTemplate}}}}});
}

}  // namespace octavo
