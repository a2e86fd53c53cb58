#include "engine/answers/answer_text.h"

namespace octavo {

void AnswerText::Texts::clear() {
  text.clear();
  bytes.clear();
  reasoning.clear();
  other_bytes = 0;
}

void AnswerText::restart(std::optional<TokenId> last_token, const StopTexts& stop, const ReasoningView& reasoning) {
  reasoning_ = reasoning;
  decoder_.restart(last_token);
  stop_matcher_.restart(stop);
  if (reasoning.marks != nullptr) splitter_.restart(*reasoning.marks, reasoning.options);
}

AnswerText::Piece AnswerText::push(TokenId token, bool ends, bool is_last, bool stops_count) {
  pushed_.clear();
  if (!ends) add_token(token, stops_count, pushed_);
  if (is_last) add_rest(stops_count, pushed_);
  return pushed_.piece();
}

AnswerText::Piece AnswerText::finish(bool stops_count) {
  rest_.clear();
  add_rest(stops_count, rest_);
  return rest_.piece();
}

bool AnswerText::is_text(TokenId token) const {
  const ReasoningMarks::Token* mark = reasoning_.marks == nullptr ? nullptr : reasoning_.marks->find_token(token);
  return mark == nullptr ? !is_hidden(token) : splitter_.text_bytes(*mark) > 0;
}

bool AnswerText::is_hidden(TokenId token) const { return words_.is_control(token) && !reasoning_.options.shows(token); }

void AnswerText::add_token(TokenId token, bool stops_count, Texts& out) {
  if (reasoning_.marks == nullptr) {
    if (is_hidden(token)) return decoder_.skip(token);
    return add(stop_matcher_.push(decoder_.push(token), stops_count), out);
  }
  splitter_.clear();
  if (const ReasoningMarks::Token* mark = reasoning_.marks->find_token(token)) {
    splitter_.push_text(decoder_.flush().bytes);
    decoder_.restart(token);
    splitter_.push_token(*mark);
  } else if (is_hidden(token)) {
    decoder_.skip(token);
    splitter_.push_hidden_token();
  } else {
    splitter_.push_text(decoder_.push(token).bytes);
  }
  add_split(stops_count, out);
}

void AnswerText::add_rest(bool stops_count, Texts& out) {
  StreamDecoder::Piece last = decoder_.flush();
  if (reasoning_.marks != nullptr) {
    splitter_.clear();
    splitter_.push_text(last.bytes);
    splitter_.finish();
    add_split(stops_count, out);
    last = {};
  }
  add(stop_matcher_.finish(last, stops_count), out);
}

/// Gives content to the stop matcher. No stop text reaches across a mark.
void AnswerText::add_split(bool stops_count, Texts& out) {
  const ReasoningSplitter::Piece piece = splitter_.piece();
  out.reasoning += piece.reasoning;
  out.other_bytes += piece.other_bytes;
  const std::size_t text_cut = piece.had_mark ? piece.text_before_mark : 0;
  const std::size_t bytes_cut = piece.had_mark ? piece.bytes_before_mark : 0;
  if (piece.had_mark)
    add(stop_matcher_.cut({.text = piece.text.substr(0, text_cut), .bytes = piece.bytes.substr(0, bytes_cut)},
                          stops_count),
        out);
  add(stop_matcher_.push({.text = piece.text.substr(text_cut), .bytes = piece.bytes.substr(bytes_cut)}, stops_count),
      out);
}

void AnswerText::add(const StopMatcher::Piece& piece, Texts& out) {
  out.text += piece.text;
  out.bytes += piece.bytes;
}

}  // namespace octavo
