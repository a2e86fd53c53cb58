#include "chat/turn_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace octavo {

namespace {

using Caps = TemplateCaps;

enum class Side : std::uint8_t { kNone, kUser, kAssistant };  // kNone: the turn does not count

Side side_of(const ShapedMessage& turn, const Caps& caps) {
  if (turn.role == "user") return Side::kUser;
  if (turn.role == "assistant") return turn.calls.empty() || caps.counts_calls ? Side::kAssistant : Side::kNone;
  return turn.role == caps.result_role && caps.counts_results ? Side::kUser : Side::kNone;
}

ShapedMessage filler(Side side, const Caps& caps) {
  const bool is_user = side == Side::kUser;
  const jinja::TextRun text = {is_user ? std::string_view() : caps.least_answer, jinja::Origin::kTemplate};
  return {.role = is_user ? "user" : "assistant", .parts = {{TextRuns{text}}}, .is_list = !caps.takes_text};
}

bool is_empty_answer(const ShapedMessage& turn, const Caps& caps) {
  if (turn.role != "assistant" || !turn.calls.empty() || turn.has_content()) return false;
  return turn.reasoning.empty() || caps.reasoning != Caps::Reasoning::kPart;
}

void fill_answers(std::vector<ShapedMessage>& turns, const Caps& caps, bool is_continued) {
  if (caps.least_answer.empty()) return;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const bool goes_on = is_continued && i + 1 == turns.size();
    if (!goes_on && is_empty_answer(turns[i], caps)) turns[i].parts = filler(Side::kAssistant, caps).parts;
  }
}

void fill_turns(std::vector<ShapedMessage>& turns, const Caps& caps) {
  std::vector<ShapedMessage> filled;
  filled.reserve(turns.size());
  Side expected = Side::kUser;
  for (ShapedMessage& turn : turns) {
    const Side side = side_of(turn, caps);
    if (side != Side::kNone) {
      if (side != expected) filled.push_back(filler(expected, caps));
      expected = side == Side::kUser ? Side::kAssistant : Side::kUser;
    }
    filled.push_back(std::move(turn));
  }
  turns = std::move(filled);
}

void put_user_first(std::vector<ShapedMessage>& turns, const Caps& caps) {
  if (turns.empty() || std::ranges::find(turns, "user", &ShapedMessage::role) != turns.end()) return;
  const auto first = std::ranges::find_if(turns, [](const ShapedMessage& turn) { return turn.role != "system"; });
  turns.insert(first, filler(Side::kUser, caps));
}

}  // namespace

void mend_order(std::vector<ShapedMessage>& turns, const Caps& caps, bool is_continued) {
  fill_answers(turns, caps, is_continued);
  if (caps.takes_turns) fill_turns(turns, caps);
  if (caps.needs_user) put_user_first(turns, caps);
}

}  // namespace octavo
