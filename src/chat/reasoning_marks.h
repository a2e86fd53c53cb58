// The marks between which a model's answers have its reasoning: one row for each family, and the row that a model's
// words and chat template ask for, as tokens.
//
// Immutable; owned by the ChatTokenizer. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "octavo/model_text.h"
#include "tokenizer/words/special_tokens.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// The marks of one family, as they stand in an answer.
struct ReasoningFamily {
  std::string_view name;
  std::string_view open, close;
  std::string_view sign = {};    // a text that the template has beside the marks; empty: none is asked for
  std::string_view answer = {};  // the text between the closing mark and the answer, which a spent budget writes too
  /// Further texts around the parts of an answer, which do not belong to it.
  std::array<std::string_view, 4> silent = {};
  bool needs_tokens = false;  // the vocabulary must have each <...> of the marks as a token
};

/// All families; where several fit a model, the first one counts.
std::span<const ReasoningFamily> reasoning_families();

/// A symbol of a mark: a byte, or kFirstMarkToken plus the index of a token.
using MarkSymbol = std::int32_t;
inline constexpr MarkSymbol kFirstMarkToken = 256;

class ReasoningMarks {
 public:
  static constexpr std::size_t kMaxMarks = 7;       // two marks, the answer's and the silent ones
  static constexpr std::size_t kMaxMarkBytes = 64;  // the longest mark

  enum class Kind : std::uint8_t { kOpen, kClose, kSilent };
  struct Mark {
    Kind kind = Kind::kOpen;
    std::vector<MarkSymbol> symbols = {};
    std::vector<std::uint8_t> borders = {};  // longest proper prefix of symbols[0..i] that is its suffix too
    bool has_tokens = false;
  };
  struct Token {
    TokenId id = -1;
    std::string text = {};
    bool is_control = false;  // whether the mark is never shown
  };

  /// The marks of the first family that fits: its tokens are in the vocabulary, or its marks are texts of the template.
  /// `special` finds control and user-defined tokens. None: no family fits.
  static std::optional<ReasoningMarks> find(std::string_view jinja, const Vocab& vocab, const SpecialTokens& special);

  const ReasoningFamily& family() const { return *family_; }
  std::span<const Mark> marks() const { return marks_; }
  /// The mark's token of this id, or null.
  const Token* find_token(TokenId id) const;
  const Token& token(MarkSymbol symbol) const { return tokens_[to_size(symbol - kFirstMarkToken)]; }
  MarkSymbol symbol_of(const Token& token) const {
    return kFirstMarkToken + static_cast<MarkSymbol>(&token - tokens_.data());
  }

  /// The text that closes reasoning: the closing mark, and the text between it and the answer.
  std::string closing_text() const;
  /// The tokens of that text; empty where they cannot be written one by one.
  std::span<const TokenId> closing_tokens() const { return closing_tokens_; }
  void set_closing_tokens(std::vector<TokenId> tokens) { closing_tokens_ = std::move(tokens); }

  /// Whether a prompt of these parts ends within reasoning: the last mark of the template's own text, behind the last
  /// message that is not continued, opens.
  bool end_inside(std::span<const PromptPart> parts) const;

 private:
  explicit ReasoningMarks(const ReasoningFamily& family) : family_(&family) {}
  void add(Kind kind, std::string_view text, const Vocab& vocab, const SpecialTokens& special);
  MarkSymbol add_token(TokenId id, const Vocab& vocab);

  const ReasoningFamily* family_;  // a row of the table
  std::vector<Mark> marks_;
  std::vector<Token> tokens_;
  std::vector<TokenId> closing_tokens_;
};

}  // namespace octavo
