#include "engine/words.h"

#include "tokenizer/tokenizer_json.h"

namespace octavo {

Result<Words> Words::load(const ModelSource& source, bool required, std::string_view chat_template,
                          const std::filesystem::path& tokenizer_path, const std::stop_token& stop) {
  if (!tokenizer_path.empty()) {
    OCTAVO_TRY(const TokenizerJson json, TokenizerJson::open(tokenizer_path));
    OCTAVO_TRY(Tokenizer replaced, Tokenizer::load(source, chat_template, &json, stop));
    return Words(std::make_unique<const Tokenizer>(std::move(replaced)));
  }
  Result<Tokenizer> tokenizer = Tokenizer::load(source, chat_template, nullptr, stop);
  if (tokenizer) return Words(std::make_unique<const Tokenizer>(std::move(*tokenizer)));
  if (required || tokenizer.error().kind != ErrorKind::kNoWords) return std::unexpected(std::move(tokenizer.error()));
  Words none;
  none.why_none_ = std::move(tokenizer.error());
  return none;
}

}  // namespace octavo
