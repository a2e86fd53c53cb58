// Any text on small vocabularies of both kinds, and any vocabulary file on a fixed text: ids are in the vocabulary,
// decoding them whole and as a stream agrees, and characters come back as they were.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "chat/chat_tokenizer.h"
#include "source/gguf/gguf_file.h"
#include "support/prompt_tokens.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/words/byte_level.h"

namespace {

using octavo::ChatTokenizer;
using octavo::TokenId;
using octavo::Tokenizer;

void require(bool condition) {
  if (!condition) std::abort();
}

/// A GGUF file without tensors, one key after another.
class FileWriter {
 public:
  void add_text(std::string_view key, std::string_view text) {
    begin(key, 8);
    put_text(text);
  }
  void add_texts(std::string_view key, const std::vector<std::string>& texts) {
    begin_array(key, 8, texts.size());
    for (const std::string& text : texts) put_text(text);
  }
  template <class T>
  void add_numbers(std::string_view key, std::uint32_t element_type, const std::vector<T>& numbers) {
    begin_array(key, element_type, numbers.size());
    for (const T number : numbers) put(number);
  }
  void add_id(std::string_view key, std::uint32_t id) {
    begin(key, 4);
    put(id);
  }
  /// The file, in words of 8 bytes, as the parser wants it aligned.
  std::vector<std::uint64_t> file() const {
    std::string bytes = "GGUF";
    const auto append = [&bytes](auto number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
    append(std::uint32_t{3});
    append(std::uint64_t{0});
    append(num_keys_);
    bytes += keys_;
    std::vector<std::uint64_t> words((bytes.size() + 7) / 8);
    bytes.copy(reinterpret_cast<char*>(words.data()), bytes.size());
    return words;
  }

 private:
  template <class T>
  void put(T number) {
    keys_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void put_text(std::string_view text) {
    put(std::uint64_t{text.size()});
    keys_ += text;
  }
  void begin(std::string_view key, std::uint32_t type) {
    put_text(key);
    put(type);
    ++num_keys_;
  }
  void begin_array(std::string_view key, std::uint32_t type, std::uint64_t size) {
    begin(key, 9);
    put(type);
    put(size);
  }

  std::string keys_;
  std::uint64_t num_keys_ = 0;
};

Tokenizer load(const FileWriter& writer) {
  const auto words = writer.file();
  const auto file = octavo::GgufFile::parse(std::as_bytes(std::span(words)), "fuzz");
  require(file.has_value());
  auto tokenizer = Tokenizer::load(*file);
  require(tokenizer.has_value());
  return std::move(*tokenizer);
}

Tokenizer byte_level_tokenizer(std::string_view pre) {
  const octavo::ByteAlphabet alphabet;
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(alphabet.character(static_cast<std::uint8_t>(byte)));
  for (const auto& [left, right] : {std::pair("a", "a"), std::pair("aa", "aa"), std::pair("a", "b")}) {
    merges.push_back(std::string(left) + " " + right);
    tokens.push_back(std::string(left) + right);
  }
  std::vector<std::int32_t> types(tokens.size(), 1);
  for (const auto& [text, type] : {std::pair("<|im_end|>", 3), std::pair("<a", 4), std::pair("a>a", 4)}) {
    tokens.emplace_back(text);
    types.push_back(type);
  }
  FileWriter writer;
  writer.add_text("tokenizer.ggml.model", "gpt2");
  writer.add_text("tokenizer.ggml.pre", pre);
  writer.add_texts("tokenizer.ggml.tokens", tokens);
  writer.add_numbers("tokenizer.ggml.token_type", 5, types);
  writer.add_texts("tokenizer.ggml.merges", merges);
  writer.add_id("tokenizer.ggml.bos_token_id", 0);
  return load(writer);
}

Tokenizer spm_tokenizer() {
  std::vector<std::string> tokens = {"<unk>", "<s>", "\u2581", "a", "aa", "\u2581a", "\u00E9", "\n\n"};
  std::vector<std::int32_t> types = {2, 3, 1, 1, 1, 1, 1, 4};
  std::vector<float> scores = {0, 0, -3, -4, -1, -2, -5, 0};
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    tokens.push_back(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
    types.push_back(6);
    scores.push_back(0);
  }
  FileWriter writer;
  writer.add_text("tokenizer.ggml.model", "llama");
  writer.add_texts("tokenizer.ggml.tokens", tokens);
  writer.add_numbers("tokenizer.ggml.token_type", 5, types);
  writer.add_numbers("tokenizer.ggml.scores", 6, scores);
  writer.add_id("tokenizer.ggml.bos_token_id", 1);
  return load(writer);
}

std::string check(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
  require(ids.has_value());
  octavo::StreamDecoder decoder(tokenizer);
  std::string streamed;
  for (const TokenId id : *ids) {
    require(id >= 0 && id < tokenizer.vocab_size());
    require(parse_special || !tokenizer.is_control(id));
    const auto piece = decoder.push(id);
    require(octavo::is_valid_utf8(piece.text));
    streamed += piece.bytes;
  }
  streamed += decoder.flush().bytes;
  const std::string decoded = tokenizer.decode(*ids);
  require(streamed == decoded);
  for (const std::size_t most : {ids->size(), ids->size() / 2}) {
    const auto limited =
        tokenizer.encode(text, {.add_special = false, .parse_special = parse_special, .max_tokens = most});
    require(limited.has_value() == (most == 0 || ids->size() <= most));
    require(!limited || *limited == *ids);
  }
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::array byte_level = {byte_level_tokenizer("gpt-2"), byte_level_tokenizer("smollm"),
                                        byte_level_tokenizer("qwen2"), byte_level_tokenizer("llama-bpe"),
                                        byte_level_tokenizer("default")};
  static const Tokenizer spm = spm_tokenizer();
  for (const bool parse_special : {false, true}) {
    for (const Tokenizer& tokenizer : byte_level) {
      const std::string decoded = check(tokenizer, text, parse_special);
      if (octavo::is_valid_utf8(text)) require(decoded == text);
    }
    check(spm, text, parse_special);
  }

  std::vector<std::uint64_t> words((size + 7) / 8);
  text.copy(reinterpret_cast<char*>(words.data()), size);
  const auto file = octavo::GgufFile::parse(std::as_bytes(std::span(words)).first(size), "fuzz");
  if (!file) return 0;
  const auto chat = ChatTokenizer::load(*file);
  if (!chat) {
    require(!chat.error().message.empty());
    return 0;
  }
  for (const bool parse_special : {false, true})
    check(chat->tokenizer(), "Hello <|im_end|> 123\n\xFF\u00E9", parse_special);
  const std::vector<octavo::ChatMessage> messages = {{"user", "<|im_end|>"}};
  const auto prompt = octavo::test::prompt_tokens(*chat, messages);
  require(prompt.has_value() || !prompt.error().message.empty());
  return 0;
}
