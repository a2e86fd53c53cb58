#include "tokenizer/stream_decoder.h"

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace octavo {

StreamDecoder::Piece StreamDecoder::push(TokenId id) {
  if (tokenizer_ != nullptr) pending_ += tokenizer_->bytes_after(previous_, id);
  previous_ = id;
  return take(false);
}

StreamDecoder::Piece StreamDecoder::flush() { return take(true); }

StreamDecoder::Piece StreamDecoder::take(bool is_end) {
  text_.clear();
  std::size_t done = 0;
  while (done < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(done);
    const Utf8Step step = next_utf8_step(rest);
    if (step.kind == Utf8Step::Kind::kIncomplete && !is_end) break;
    text_ += step.kind == Utf8Step::Kind::kCharacter ? rest.substr(0, step.length) : kReplacementCharacter;
    done += step.length;
  }
  bytes_.assign(pending_, 0, done);
  pending_.erase(0, done);
  return {text_, bytes_};
}

}  // namespace octavo
