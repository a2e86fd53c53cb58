// Any bytes as a tokenizer.json, alone and in the place of parts of one that is right. It is refused in words, or its
// ids are in the vocabulary, and texts become ids and text again.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace octavo;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const std::string& json) {
  const Result<TokenizerJson> words = TokenizerJson::parse(json, "tokenizer.json");
  if (!words) return require(words.error().message.starts_with("tokenizer.json: "));
  const Result<Tokenizer> tokenizer = Tokenizer::load(*words);
  if (!tokenizer) return require(!tokenizer.error().message.empty());
  for (const std::string_view text : {"", "hello <s> a\xC3\xA9 12\n  \xFF", json.data()}) {
    const auto ids = tokenizer->encode(text, {.add_special = true, .parse_special = true, .max_tokens = 10000});
    if (!ids) continue;
    for (const TokenId id : *ids) require(id >= 0 && id < tokenizer->vocab_size());
    tokenizer->decode(*ids);
    const auto pair = tokenizer->encode_pair(text, "a hello", {.max_tokens = 12, .cuts = true});
    require(!pair || pair->ids.size() <= 12);
  }
}

constexpr std::string_view kBegin = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)";
constexpr std::string_view kModel =
    R"(],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true},)"
    R"("post_processor":null,"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","unk_token":"?","vocab":{"?":0,"h":1,)"
    R"("e":2,"he":3},"merges":["h e"]}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check(input);
  check(std::string(kBegin) + input + std::string(kModel));
  std::string whole = std::string(kBegin) + std::string(kModel);
  const std::size_t at = size == 0 ? 0 : data[0] % whole.size();
  check(whole.insert(at, input));
  return 0;
}
