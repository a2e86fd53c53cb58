#include "engine/words.h"

namespace octavo {

Result<Words> Words::load(const ModelSource& source, bool required, std::string_view chat_template) {
  Result<Tokenizer> tokenizer = Tokenizer::load(source, chat_template);
  if (tokenizer) return Words(std::make_unique<const Tokenizer>(std::move(*tokenizer)));
  if (required || tokenizer.error().kind != ErrorKind::kNoWords) return std::unexpected(std::move(tokenizer.error()));
  Words none;
  none.why_none_ = std::move(tokenizer.error());
  return none;
}

}  // namespace octavo
