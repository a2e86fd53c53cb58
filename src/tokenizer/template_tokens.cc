#include "tokenizer/template_tokens.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "tokenizer/words/special_tokens.h"

namespace octavo {

namespace {

constexpr std::array<std::string_view, 6> kRoles = {"system", "user", "assistant", "tool", "developer", "model"};

bool is_ascii_mark(char c) { return c > ' ' && c <= '~' && !is_letter_or_digit(c) && c != '_'; }

/// Whether a text is neither a word, nor white space, nor a punctuation mark or two.
bool is_marker(std::string_view text) { return text.size() >= 3 && std::ranges::any_of(text, is_ascii_mark); }

/// Reads string literals out of a Jinja source.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view source) : source_(source) {}

  std::vector<std::string> read() {
    while (at_ < source_.size()) {
      const std::size_t tag = std::min(find("{{"), std::min(find("{%"), find("{#")));
      add(std::string(source_.substr(at_, tag - at_)));
      at_ = tag;
      if (at_ < source_.size()) read_tag();
    }
    return std::move(literals_);
  }

 private:
  std::size_t find(std::string_view what) const { return std::min(source_.find(what, at_), source_.size()); }
  void add(std::string literal) {
    if (!literal.empty()) literals_.push_back(std::move(literal));
  }

  void read_tag() {
    const char kind = source_[at_ + 1];
    if (kind == '#') {
      at_ = std::min(find("#}") + 2, source_.size());
      return;
    }
    const std::string_view end = kind == '{' ? "}}" : "%}";
    for (at_ += 2; at_ < source_.size();) {
      const char c = source_[at_];
      if (c == '\'' || c == '"') {
        read_literal(c);
      } else if (source_.substr(at_).starts_with(end)) {
        at_ += 2;
        return;
      } else {
        ++at_;
      }
    }
  }

  void read_literal(char quote) {
    const std::size_t begin = at_++;
    std::string text;
    for (; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] != '\\' || at_ + 1 == source_.size()) {
        text.push_back(source_[at_]);
        continue;
      }
      const char escaped = source_[++at_];
      text.push_back(escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped);
    }
    at_ = std::min(at_ + 1, source_.size());
    const bool is_field = begin > 0 && source_[begin - 1] == '[' && at_ < source_.size() && source_[at_] == ']';
    if (!is_field) add(std::move(text));
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::vector<std::string> literals_;
};

/// Reserves the markers that `text` becomes.
void reserve_written(const SpecialTokens& special, std::string_view text, Vocab& vocab) {
  for (const Fragment& fragment : special.split(text)) {
    if (fragment.token >= 0 && is_marker(fragment.text)) vocab.reserve(fragment.token);
  }
}

void reserve_of_template(const SpecialTokens& special, std::string_view jinja, Vocab& vocab) {
  constexpr std::size_t kSeam = SpecialTokens::kMaxBytes;
  const std::vector<std::string> literals = template_literals(jinja);
  for (std::size_t i = 0; i < literals.size(); ++i) {
    reserve_written(special, literals[i], vocab);
    if (i == 0) continue;
    const std::string& left = literals[i - 1];
    const std::string before = left.substr(left.size() - std::min(left.size(), kSeam));
    const std::string after = literals[i].substr(0, kSeam);
    for (const std::string_view role : kRoles) {
      std::string seam = before;
      seam += role;
      seam += after;
      reserve_written(special, seam, vocab);
    }
  }
}

}  // namespace

std::vector<std::string> template_literals(std::string_view jinja) { return LiteralReader(jinja).read(); }

void reserve_template_tokens(const ModelSource& source, std::string_view instead, Vocab& vocab) {
  SpecialTokens special;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (vocab.is_control(id) || vocab.is_user_defined(id)) special.add(vocab.text(id), id);
    if (vocab.is_end_of_generation(id) && is_marker(vocab.text(id))) vocab.reserve(id);
  }
  for (const auto& [key, value] : source.metadata()) {
    const auto* text = std::get_if<std::string_view>(&value.value);
    if (text == nullptr || !key.starts_with(kTemplateKey) || text->size() > kMaxTemplateBytes) continue;
    reserve_of_template(special, *text, vocab);
  }
  if (instead.size() <= kMaxTemplateBytes) reserve_of_template(special, instead, vocab);
}

}  // namespace octavo
