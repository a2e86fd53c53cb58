// Any answer, of any family's marks: content and reasoning are whole characters, all bytes are accounted for, and the
// cut of the answer into pieces changes nothing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "chat/chat_tokenizer.h"
#include "chat/reasoning_splitter.h"
#include "fuzz_bytes.h"
#include "support/memory_source.h"
#include "tokenizer/words/byte_level.h"

namespace {

using namespace octavo;

/// The <...> of the family's marks are control tokens, or user-defined ones, or text.
ChatTokenizer tokenizer_of(const ReasoningFamily& family, std::int32_t type) {
  const ByteAlphabet alphabet;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(alphabet.character(static_cast<std::uint8_t>(byte)));
  std::vector<std::int32_t> types(tokens.size(), 1);
  std::string text = std::string(family.open) + std::string(family.close) + std::string(family.answer);
  for (const std::string_view silent : family.silent) text += silent;
  for (std::size_t at = 0; type != 1 && (at = text.find('<', at)) != std::string::npos; ++at) {
    std::string token = text.substr(at, text.find('>', at) + 1 - at);
    if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) continue;
    tokens.push_back(std::move(token));
    types.push_back(type);
  }
  test::MemorySource source;
  source.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
  source.add("tokenizer.chat_template",
             std::string(family.sign) + std::string(family.open) + std::string(family.close));
  source.add_array("tokenizer.ggml.tokens", tokens).add_array("tokenizer.ggml.token_type", types);
  source.add_array("tokenizer.ggml.merges", std::vector<std::string>{});
  auto chat = ChatTokenizer::load(source);
  FUZZ_CHECK(chat.has_value());
  return std::move(*chat);
}

const std::vector<ChatTokenizer>& tokenizers() {
  static const std::vector<ChatTokenizer> all = [] {
    std::vector<ChatTokenizer> made;
    for (const ReasoningFamily& family : reasoning_families())
      for (const std::int32_t type : {1, 3, 4})
        if (ChatTokenizer chat = tokenizer_of(family, type); chat.reasoning() != nullptr)
          made.push_back(std::move(chat));
    return made;
  }();
  return all;
}

/// One thing that a splitter is given.
struct Part {
  const ReasoningMarks::Token* token = nullptr;
  bool is_hidden = false;
  std::string text = {};
};

std::vector<Part> parts_of(Bytes& bytes, const ReasoningMarks& marks) {
  std::vector<const ReasoningMarks::Token*> tokens;
  std::vector<std::string> texts;
  for (const ReasoningMarks::Mark& mark : marks.marks()) {
    texts.emplace_back();
    for (const MarkSymbol symbol : mark.symbols) {
      if (symbol >= kFirstMarkToken) {
        tokens.push_back(&marks.token(symbol));
      } else {
        texts.back().push_back(static_cast<char>(symbol));
      }
    }
  }
  std::vector<Part> parts;
  while (!bytes.empty()) {
    const int kind = bytes.below(8);
    if (kind < 2 && !tokens.empty()) {
      parts.push_back({.token = tokens[to_size(bytes.next()) % tokens.size()]});
    } else if (kind == 2) {
      parts.push_back({.is_hidden = true});
    } else if (kind < 5) {
      const std::string& text = texts[to_size(bytes.next()) % texts.size()];
      parts.push_back({.text = text.substr(0, to_size(bytes.next()) % (text.size() + 1))});
    } else if (kind == 5) {
      parts.push_back({.text = std::string(to_size(bytes.next()), ' ')});
    } else {
      parts.push_back({.text = std::string(1, static_cast<char>(bytes.next()))});
    }
  }
  return parts;
}

struct Split {
  std::string text, bytes, reasoning;
  std::size_t other_bytes = 0;
  bool operator==(const Split&) const = default;
};

Split split(const ReasoningMarks& marks, const std::vector<Part>& parts, const ReasoningSplitter::Options& options) {
  ReasoningSplitter splitter;
  splitter.restart(marks, options);
  Split result;
  const auto take = [&] {
    const ReasoningSplitter::Piece piece = splitter.piece();
    FUZZ_CHECK(is_valid_utf8(piece.text) && is_valid_utf8(piece.reasoning));
    FUZZ_CHECK(piece.text_before_mark <= piece.text.size() && piece.bytes_before_mark <= piece.bytes.size());
    result.text += piece.text;
    result.bytes += piece.bytes;
    result.reasoning += piece.reasoning;
    result.other_bytes += piece.other_bytes;
    splitter.clear();
  };
  std::size_t num_bytes = 0;
  for (const Part& part : parts) {
    if (part.token != nullptr) {
      splitter.push_token(*part.token);
      num_bytes += splitter.text_bytes(*part.token);
    } else if (part.is_hidden) {
      splitter.push_hidden_token();
    } else {
      splitter.push_text(part.text);
      num_bytes += part.text.size();
    }
    take();
  }
  splitter.finish();
  take();
  FUZZ_CHECK(result.bytes.size() + result.other_bytes == num_bytes);
  if (options.is_left_in) FUZZ_CHECK(result.reasoning.empty());
  return result;
}

/// The same answer with text in other pieces: each character alone, or runs of it whole.
std::vector<Part> cut(const std::vector<Part>& parts, bool is_whole) {
  std::vector<Part> pieces;
  for (const Part& part : parts) {
    const bool is_text = part.token == nullptr && !part.is_hidden;
    if (!is_text || (is_whole && (pieces.empty() || pieces.back().token != nullptr || pieces.back().is_hidden))) {
      pieces.push_back(part);
    } else if (is_whole) {
      pieces.back().text += part.text;
    } else {
      for (const char c : part.text) pieces.push_back({.text = std::string(1, c)});
    }
  }
  return pieces;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes({data, size});
  const ChatTokenizer& chat = tokenizers()[to_size(bytes.next()) % tokenizers().size()];
  const ReasoningMarks& marks = *chat.reasoning();
  const int flags = bytes.next();
  const ReasoningSplitter::Options options = {.begins_inside = (flags & 1) != 0, .is_left_in = (flags & 6) == 0};
  std::vector<Part> parts = parts_of(bytes, marks);
  // Text ends where a character does, as the decoder in front of it sees to.
  for (Part& part : parts) part.text = is_valid_utf8(part.text) ? part.text : "\xFF";
  const Split result = split(marks, parts, options);
  FUZZ_CHECK(split(marks, cut(parts, true), options) == result);
  std::vector<Part> ascii = parts;
  for (Part& part : ascii)
    for (char& c : part.text) c = static_cast<char>(c & 0x7F);
  FUZZ_CHECK(split(marks, cut(ascii, false), options) == split(marks, ascii, options));
  return 0;
}
