// The switch of a chat template that turns thinking on and off, by whichever name it has, and the levels of thinking
// that it tells apart.
//
// Templates of one purpose read different names: enable_thinking, thinking, thinking_mode, a word in the system
// message. No field of a file says which: each candidate is tried once, at load, by rendering a small conversation both
// ways. So what a request says by one name reaches every template. Plain values; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "chat/conversation.h"
#include "chat/template_caps.h"
#include "octavo/chat.h"
#include "template/template.h"

namespace octavo {

/// The names that requests are translated from.
inline constexpr std::string_view kThinkingName = "enable_thinking", kEffortName = "reasoning_effort";
/// The level of thinking that is none at all.
inline constexpr std::string_view kNoEffort = "none";

/// A way in which templates are told: a name with a value for each, or a word in the system message.
struct ThinkingWay {
  std::string_view name;     // empty: a word in the system message
  std::string_view on, off;  // a flag or a number as JSON writes them, else a text
};

/// Whether a name with this value says that a model is to think; none: it says nothing of it.
std::optional<bool> thinking_said_by(std::string_view name, const TemplateValue& value);

class ThinkingSwitch {
 public:
  /// Finds what a template reads by rendering at most some thirty small conversations, of those candidates alone whose
  /// names its text has, within a budget. `caps`: the template's.
  static ThinkingSwitch find(const jinja::Template& chat_template, const TemplateCaps& caps, std::string_view source);

  /// The name or the word that turns thinking on and off; empty: there is none.
  std::string_view name() const { return way_ == nullptr ? "" : way_->name.empty() ? way_->off : way_->name; }
  /// The levels that the template takes; empty: it tells none apart.
  std::span<const std::string_view> efforts() const { return efforts_; }

  /// The names with what they say about thinking in the template's own words; none: they say so already, or say
  /// nothing.
  std::optional<TemplateDict> translate(const TemplateDict& names) const;
  /// Puts the word into the system message where the template is told by one.
  void add_word(const TemplateDict& names, ShapedConversation& conversation) const;

 private:
  friend class ThinkingProbe;

  const ThinkingWay* way_ = nullptr;  // a row of the table
  std::string_view effort_name_ = {};
  std::vector<std::string_view> efforts_ = {};
};

}  // namespace octavo
