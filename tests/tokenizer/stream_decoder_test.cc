// A stream of tokens gives whole characters, however the tokens cut them.
#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

// Tokens 0 to 255 of small_bpe() are the bytes.
const Tokenizer& byte_tokenizer() {
  static const Tokenizer tokenizer = std::move(*small_bpe().load());
  return tokenizer;
}

TokenId byte_token(char c) { return static_cast<unsigned char>(c); }

TEST(StreamDecoder, HoldsBackAPartialCharacter) {
  StreamDecoder decoder(byte_tokenizer());
  const std::string_view emoji = "😀";
  for (const char c : emoji.substr(0, 3)) {
    const auto piece = decoder.push(byte_token(c));
    EXPECT_EQ(piece.text, "");
    EXPECT_EQ(piece.bytes, "");
  }
  const auto piece = decoder.push(byte_token(emoji[3]));
  EXPECT_EQ(piece.text, emoji);
  EXPECT_EQ(piece.bytes, emoji);
  EXPECT_EQ(decoder.flush().text, "");
}

TEST(StreamDecoder, BrokenBytesBecomeOneReplacementPerMaximalSubpart) {
  StreamDecoder decoder(byte_tokenizer());
  std::string text;
  std::string bytes;
  // Unicode 15, table 3-11.
  const std::string_view broken = "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64";
  for (const char c : broken) {
    const auto piece = decoder.push(byte_token(c));
    text += piece.text;
    bytes += piece.bytes;
  }
  EXPECT_EQ(text, "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(bytes, broken);
}

TEST(StreamDecoder, FlushGivesUpWhatIsHeldBack) {
  StreamDecoder decoder(byte_tokenizer());
  decoder.push(0xE2);
  decoder.push(0x82);
  const auto piece = decoder.flush();
  EXPECT_EQ(piece.text, "\uFFFD");
  EXPECT_EQ(piece.bytes, "\xE2\x82");
  EXPECT_EQ(decoder.flush().bytes, "");
}

RC_GTEST_PROP(StreamDecoderProperty, PiecesJoinedAreTheWholeDecoding, (const std::vector<std::uint8_t>& bytes)) {
  const std::vector<TokenId> ids(bytes.begin(), bytes.end());
  StreamDecoder decoder(byte_tokenizer());
  std::string text;
  std::string true_bytes;
  const auto take = [&](const StreamDecoder::Piece& piece) {
    RC_ASSERT(is_valid_utf8(piece.text));
    text += piece.text;
    true_bytes += piece.bytes;
  };
  for (const TokenId id : ids) take(decoder.push(id));
  take(decoder.flush());
  RC_ASSERT(true_bytes == byte_tokenizer().decode(ids));

  std::string expected;
  for (std::string_view rest = true_bytes; !rest.empty();) {
    const Utf8Step step = next_utf8_step(rest);
    expected += step.kind == Utf8Step::Kind::kCharacter ? rest.substr(0, step.length) : kReplacementCharacter;
    rest.remove_prefix(step.length);
  }
  RC_ASSERT(text == expected);
}

TEST(StreamDecoder, SpmWordKeepsItsSpaceAfterAPrompt) {
  const Tokenizer tokenizer = std::move(*small_spm().load());
  const auto ids = *tokenizer.encode("hello hello", {.add_special = false, .parse_special = false});
  std::string from_start;
  StreamDecoder start(tokenizer);
  for (const TokenId id : ids) from_start += start.push(id).text;
  EXPECT_EQ(from_start, "hello hello");
  StreamDecoder after_word(tokenizer, ids.back());
  EXPECT_EQ(after_word.push(ids.front()).text, " hello");
  StreamDecoder after_control(tokenizer, 1);
  EXPECT_EQ(after_control.push(ids.front()).text, "hello");
}

}  // namespace
}  // namespace octavo::test
