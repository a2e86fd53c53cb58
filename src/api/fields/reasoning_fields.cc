#include "api/fields/reasoning_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "api/call/template_names.h"
#include "api/fields/answer_fields.h"
#include "api/fields/sampling_fields.h"
#include "chat/thinking_switch.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// A word that a field may have in place of the switch for thinking.
struct ThinkingWord {
  std::string_view word;
  bool is_on;
};
constexpr ThinkingWord kWords[] = {{"enabled", true},   {"adaptive", true}, {"auto", true}, {"on", true},
                                   {"disabled", false}, {"off", false},     {"none", false}};
constexpr std::string_view kExpectedType = "enabled, adaptive or disabled";

std::optional<bool> meaning_of(std::string_view word) {
  const auto* const known = std::ranges::find(kWords, word, &ThinkingWord::word);
  return known == std::end(kWords) ? std::nullopt : std::optional(known->is_on);
}

/// The names that the template can read; null: the request has no template.
TemplateDict* names_in(FieldReader& reader) {
  auto* conversation = std::get_if<Conversation>(&reader.request.prompt);
  return conversation == nullptr ? nullptr : &conversation->options.names;
}

void set_name(FieldReader& reader, std::string_view name, const TemplateValue& value) {
  TemplateDict* names = names_in(reader);
  if (names == nullptr) return;
  const bool is_there =
      std::ranges::any_of(*names, [&](const auto& known) { return known.first == name && known.second == value; });
  if (!is_there) set_template_name(*names, name, value);
}

void keep_thinking(FieldReader& reader, const JsonCursor& given, bool is_on, bool is_implied) {
  AskedThinking& asked = reader.request.thinking;
  if (asked.is_on && !asked.is_implied) {
    if (is_implied || *asked.is_on == is_on) return;
    return reader.refuse(given.error(fmt::format("found {} beside {}, expected one of them: they say the opposite",
                                                 describe_json(*given.value()), asked.field)));
  }
  asked.is_on = is_on;
  asked.is_implied = is_implied;
  asked.field = given.path();
  set_name(reader, kThinkingName, is_on);
}

void take_switch(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto is_on = reader.take(given.boolean());
  if (is_on) ask_to_think(reader, given, *is_on);
}

/// Takes a word such as "disabled", from the object's type or in place of the object.
void take_word(FieldReader& reader, const JsonCursor& given) {
  const auto word = reader.take(given.needed_string());
  if (reader.failed()) return;
  const auto is_on = meaning_of(word);
  if (!is_on) return reader.refuse(given.error(fmt::format("found '{}', expected {}", word, kExpectedType)));
  ask_to_think(reader, given, *is_on);
}

/// Takes `thinking`. Any model may be asked to think; one that cannot answers without.
void take_thinking(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  if (given.value()->is_bool()) return ask_to_think(reader, given, given.value()->get_bool());
  if (given.if_string() != nullptr) return take_word(reader, given);
  if (reader.take(given.object("an object with a type")) != nullptr) take_word(reader, given["type"]);
}

/// Takes `reasoning`: an object, or a boolean that is the switch alone.
void take_reasoning(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given() && given.value()->is_bool()) return ask_to_think(reader, given, given.value()->get_bool());
  reader.take(given.object());
}

/// Whether a switch or a word is given in place of the object whose member this field is.
bool is_in_switch(FieldReader& reader, const ApiField& field) {
  const JsonCursor whole = reader.at(field.path.substr(0, field.path.find('.')));
  return whole.is_given() && whole.if_object() == nullptr;
}

void take_member_switch(FieldReader& reader, const ApiField& field) {
  if (!is_in_switch(reader, field)) take_switch(reader, field);
}
void take_member_effort(FieldReader& reader, const ApiField& field) {
  if (!is_in_switch(reader, field)) field::take_effort(reader, field);
}
void take_member_budget(FieldReader& reader, const ApiField& field) {
  if (!is_in_switch(reader, field)) field::take_budget(reader, field);
}

void take_exclude(FieldReader& reader, const ApiField& field) {
  if (is_in_switch(reader, field)) return;
  if (reader.take(reader.at(field.path).boolean()).value_or(false)) reader.request.form.reasoning.is_shown = false;
}

void take_separate(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked) reader.request.settings.reasoning.mode = *asked ? ReasoningMode::kSplit : ReasoningMode::kLeftIn;
}

constexpr ApiField kThinkingRows[] = {
    field::boolean("enable_thinking", "the server's, else the template's", "whether to think, as in vLLM and llama.cpp",
                   take_switch),
    field::any("think", "the server's, else the template's",
               "ollama's: whether to think, or how hard: `low`, `medium` or `high`", field::take_think),
    field::boolean("separate_reasoning", "the server's",
                   "SGLang's: true: reasoning stands apart from the content; false: it is left there", take_separate),
};

constexpr ApiField kEffortRows[] = {field::effort("reasoning_effort")};

/// The row of the bound comes first, so that its errors are told with or without a type.
constexpr ApiField kThinkingObjectRows[] = {
    field::integer("thinking.budget_tokens", 0, field::kMaxInt, "the server's", "the most tokens of thinking",
                   take_member_budget),
    field::boolean_or_object(
        "thinking", "the template's",
        "the type `enabled`, `adaptive` or `disabled`; the type, or true or false, may stand alone", take_thinking),
};

constexpr ApiField kReasoningObjectRows[] = {
    field::boolean_or_object("reasoning", "the template's",
                             "the members below, as OpenRouter has them; true or false may stand in its place",
                             take_reasoning),
    field::boolean("reasoning.enabled", "the template's", "whether to think", take_member_switch),
    field::string("reasoning.effort", "the template's",
                  "how hard to think, for templates that know it; `none`: not at all", take_member_effort),
    field::integer("reasoning.max_tokens", 0, field::kMaxInt, "the server's", "the most tokens of reasoning",
                   take_member_budget),
    field::boolean("reasoning.exclude", "false", "reasoning is made and not shown", take_exclude),
};

constexpr std::string_view kNoTemplate = "a completion has no chat template, which would find it";
constexpr ApiField kNoThinkingRows[] = {
    field::ignored("enable_thinking", kNoTemplate),    field::ignored("think", kNoTemplate),
    field::ignored("thinking", kNoTemplate),           field::ignored("reasoning", kNoTemplate),
    field::ignored("reasoning_effort", kNoTemplate),   field::ignored("chat_template_kwargs", kNoTemplate),
    field::ignored("separate_reasoning", kNoTemplate),
};

}  // namespace

void ask_to_think(FieldReader& reader, const JsonCursor& given, bool is_on) {
  keep_thinking(reader, given, is_on, false);
}

void ask_for_effort(FieldReader& reader, const JsonCursor& given) {
  const auto level = reader.take(given.string());
  if (!level || level->empty()) return;
  AskedThinking& asked = reader.request.thinking;
  asked.effort = *level;
  asked.effort_field = given.path();
  set_name(reader, kEffortName, std::string(*level));
  const bool is_off = thinking_said_by(kEffortName, std::string(*level)) == false;
  keep_thinking(reader, given, !is_off, !is_off);
}

void ask_by_names(FieldReader& reader, const JsonCursor& given, const json::object& names) {
  for (const json::key_value_pair& member : names) {
    const JsonCursor place = given[member.key()];
    if (member.key() == kEffortName && place.if_string() != nullptr) {
      ask_for_effort(reader, place);
    } else if (const auto is_on = thinking_said_by(member.key(), template_value(member.value()))) {
      ask_to_think(reader, place, *is_on);
    }
  }
}

bool closes_thinking(const AskedThinking& asked, const ModelInfo& info) {
  return asked.is_on == false && info.thinking.name.empty() && !info.reasoning.empty();
}

void warn_of_thinking(const AskedThinking& asked, const ModelInfo& info, bool is_chat, Warnings& warnings) {
  const ThinkingInfo& known = info.thinking;
  if (!is_chat && asked.is_on) {
    warnings.push_back(fmt::format("{}: it is ignored: {}", asked.field, kNoTemplate));
    return;
  }
  const bool is_level = !asked.effort.empty() && asked.effort != kNoEffort;
  if (is_level && known.efforts.empty()) {
    warnings.push_back(fmt::format("{}: {} has no effect: the model's chat template tells no levels of thinking apart",
                                   asked.effort_field, describe_json(json::value(asked.effort))));
  } else if (is_level && std::ranges::find(known.efforts, asked.effort) == known.efforts.end()) {
    warnings.push_back(fmt::format("{}: {} is not a level of the model's chat template, which takes {}",
                                   asked.effort_field, describe_json(json::value(asked.effort)),
                                   fmt::join(known.efforts, ", ")));
  }
  if (!asked.is_on || asked.is_implied || !known.name.empty()) return;
  warnings.push_back(fmt::format("{}: the model's chat template has no switch for thinking: {}", asked.field,
                                 closes_thinking(asked, info)
                                     ? "reasoning is closed where it begins, as by a reasoning_budget of 0"
                                     : "it has no effect"));
}

namespace field {

void take_effort(FieldReader& reader, const ApiField& field) { ask_for_effort(reader, reader.at(field.path)); }

void take_think(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  if (given.value()->is_bool()) return ask_to_think(reader, given, given.value()->get_bool());
  if (given.if_string() == nullptr)
    return reader.refuse(given.wrong_type("true, false, or \"low\", \"medium\" or \"high\""));
  ask_for_effort(reader, given);
}

}  // namespace field

const FieldTable kThinkingFields = kThinkingRows;
const FieldTable kEffortFields = kEffortRows;
const FieldTable kThinkingObjectFields = kThinkingObjectRows;
const FieldTable kReasoningObjectFields = kReasoningObjectRows;
const FieldTable kNoThinkingFields = kNoThinkingRows;

}  // namespace octavo
