#include "chat/reasoning_marks.h"

#include <algorithm>
#include <utility>

namespace octavo {

namespace {

// Read in the makers' chat templates (70 of them in llama.cpp's source package, models/templates/) and, of those that
// lack one there, in their documentation.
constexpr std::array kFamilies = {
    // gpt-oss; docs of openai-harmony
    ReasoningFamily{.name = "harmony",
                    .open = "<|channel|>analysis<|message|>",
                    .close = "<|end|>",
                    .answer = "<|start|>assistant<|channel|>final<|message|>",
                    .silent = {"<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>"},
                    .needs_tokens = true},
    // Gemma 4
    ReasoningFamily{.name = "gemma", .open = "<|channel>thought", .close = "<channel|>", .needs_tokens = true},
    // Kimi K3
    ReasoningFamily{.name = "kimi",
                    .open = "<|open|>think<|sep|>",
                    .close = "<|close|>think<|sep|>",
                    .answer = "<|open|>response<|sep|>",
                    .silent = {"<|close|>response<|sep|>", "<|close|>message<|sep|>"},
                    .needs_tokens = true},
    // Solar Open
    ReasoningFamily{.name = "solar",
                    .open = "<|think|>",
                    .close = "<|end|>",
                    .answer = "<|begin|>assistant<|content|>",
                    .silent = {"<|begin|>assistant", "<|content|>"},
                    .needs_tokens = true},
    // Glimmer
    ReasoningFamily{.name = "glimmer",
                    .open = " to=self<|message|>",
                    .close = "<|eom|>",
                    .answer = "<|start|>assistant<|message|>",
                    .silent = {"<|start|>assistant", " to=user<|message|>", "<|message|>"},
                    .needs_tokens = true},
    // Command R7B, Command A Reasoning, Cohere2 MoE
    ReasoningFamily{.name = "command",
                    .open = "<|START_THINKING|>",
                    .close = "<|END_THINKING|>",
                    .silent = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"},
                    .needs_tokens = true},
    // Apertus
    ReasoningFamily{.name = "apertus", .open = "<|inner_prefix|>", .close = "<|inner_suffix|>", .needs_tokens = true},
    // Hy3
    ReasoningFamily{
        .name = "hunyuan-3", .open = "<think:opensource>", .close = "</think:opensource>", .needs_tokens = true},
    // Magistral, Ministral
    ReasoningFamily{.name = "mistral", .open = "[THINK]", .close = "[/THINK]"},
    // Seed-OSS
    ReasoningFamily{.name = "seed", .open = "<seed:think>", .close = "</seed:think>"},
    // MiniMax M3
    ReasoningFamily{.name = "minimax", .open = "<mm:think>", .close = "</mm:think>"},
    // OpenThinker
    ReasoningFamily{.name = "openthinker",
                    .open = "<|begin_of_thought|>",
                    .close = "<|end_of_thought|>",
                    .silent = {"<|begin_of_solution|>", "<|end_of_solution|>"}},
    // Kimi-VL
    ReasoningFamily{.name = "kimi-vl", .open = "◁think▷", .close = "◁/think▷"},
    // Apriel; 1.6 ends its prompts with the opening mark
    ReasoningFamily{.name = "apriel",
                    .open = "Here are my reasoning steps:",
                    .close = "[BEGIN FINAL RESPONSE]",
                    .silent = {"[END FINAL RESPONSE]"}},
    // Granite 3.2, 3.3
    ReasoningFamily{.name = "granite",
                    .open = "<think>",
                    .close = "</think>",
                    .sign = "<response></response>",
                    .answer = "<response>",
                    .silent = {"</response>"}},
    // EXAONE Deep
    ReasoningFamily{.name = "exaone", .open = "<thought>", .close = "</thought>"},
    // Apriel 1.5 between tool calls
    ReasoningFamily{.name = "thinking", .open = "<thinking>", .close = "</thinking>"},
    // DeepSeek, Qwen, GLM, Kimi K2, MiniMax M2, Nemotron, SmolLM3, LFM2.5, Phi-4 and many more
    ReasoningFamily{.name = "think", .open = "<think>", .close = "</think>"},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Whether each <...> of the mark is a token.
bool has_tokens(std::string_view mark, const SpecialTokens& special) {
  bool any = false;
  for (const Fragment& fragment : special.split(mark)) {
    any = any || fragment.token >= 0;
    if (fragment.token < 0 && fragment.text.find_first_of("<>[]|") != std::string_view::npos) return false;
  }
  return any;
}

/// Whether the mark is one token, or made of several.
bool is_token(std::string_view mark, const SpecialTokens& special) {
  const std::vector<Fragment> fragments = special.split(mark);
  return fragments.size() == 1 && fragments.front().token >= 0;
}

bool fits(const ReasoningFamily& family, std::string_view jinja, const SpecialTokens& special) {
  if (!contains(jinja, family.sign)) return false;
  if (family.needs_tokens)
    return has_tokens(family.open, special) && has_tokens(family.close, special) &&
           (family.answer.empty() || has_tokens(family.answer, special));
  if (is_token(family.open, special) && is_token(family.close, special)) return true;
  return contains(jinja, family.close) && contains(jinja, family.open);
}

std::vector<std::uint8_t> borders_of(std::span<const MarkSymbol> symbols) {
  std::vector<std::uint8_t> borders(symbols.size());
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    std::uint8_t matched = borders[i - 1];
    while (matched > 0 && symbols[matched] != symbols[i]) matched = borders[matched - 1U];
    borders[i] = static_cast<std::uint8_t>(symbols[matched] == symbols[i] ? matched + 1 : 0);
  }
  return borders;
}

/// The place after the last `part` of `text`; 0: there is none.
std::size_t end_of_last(std::string_view text, std::string_view part) {
  const std::size_t at = text.rfind(part);
  return at == std::string_view::npos ? 0 : at + part.size();
}

}  // namespace

std::span<const ReasoningFamily> reasoning_families() { return kFamilies; }

std::optional<ReasoningMarks> ReasoningMarks::find(std::string_view jinja, const Vocab& vocab,
                                                   const SpecialTokens& special) {
  const auto family =
      std::ranges::find_if(kFamilies, [&](const ReasoningFamily& row) { return fits(row, jinja, special); });
  if (family == kFamilies.end()) return std::nullopt;
  ReasoningMarks found(*family);
  found.add(Kind::kOpen, family->open, vocab, special);
  found.add(Kind::kClose, family->close, vocab, special);
  found.add(Kind::kSilent, family->answer, vocab, special);
  for (const std::string_view text : family->silent) found.add(Kind::kSilent, text, vocab, special);
  return found;
}

void ReasoningMarks::add(Kind kind, std::string_view text, const Vocab& vocab, const SpecialTokens& special) {
  if (text.empty() || (family_->needs_tokens && !has_tokens(text, special))) return;
  Mark mark{.kind = kind};
  mark.has_tokens = family_->needs_tokens || is_token(text, special);
  const std::vector<Fragment> fragments =
      mark.has_tokens ? special.split(text) : std::vector<Fragment>{{.token = -1, .text = text}};
  for (const Fragment& fragment : fragments) {
    if (fragment.token >= 0) {
      mark.symbols.push_back(add_token(fragment.token, vocab));
    } else {
      for (const char c : fragment.text) mark.symbols.push_back(static_cast<std::uint8_t>(c));
    }
  }
  mark.borders = borders_of(mark.symbols);
  marks_.push_back(std::move(mark));
}

MarkSymbol ReasoningMarks::add_token(TokenId id, const Vocab& vocab) {
  if (const Token* known = find_token(id)) return symbol_of(*known);
  tokens_.push_back({.id = id, .text = std::string(vocab.bytes(id)), .is_control = vocab.is_control(id)});
  return symbol_of(tokens_.back());
}

const ReasoningMarks::Token* ReasoningMarks::find_token(TokenId id) const {
  const auto found = std::ranges::find(tokens_, id, &Token::id);
  return found == tokens_.end() ? nullptr : &*found;
}

std::string ReasoningMarks::closing_text() const { return std::string(family_->close).append(family_->answer); }

bool ReasoningMarks::end_inside(std::span<const PromptPart> parts) const {
  while (!parts.empty() && !parts.back().is_template) parts = parts.first(parts.size() - 1);
  std::size_t first = parts.size();
  while (first > 0 && parts[first - 1].is_template) --first;
  std::string text;
  for (const PromptPart& part : parts.subspan(first)) text += part.text;
  return end_of_last(text, family_->open) > end_of_last(text, family_->close);
}

}  // namespace octavo
