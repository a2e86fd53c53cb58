#include "engine/text/model_tokenizer.h"

#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

Result<ModelTokenizer> ModelTokenizer::load(const ModelSource& source, bool required, std::string_view chat_template,
                                            const std::filesystem::path& tokenizer_path, const std::stop_token& stop,
                                            const PictureMarks& marks) {
  if (!tokenizer_path.empty()) {
    OCTAVO_TRY(const TokenizerJson json, TokenizerJson::open(tokenizer_path));
    OCTAVO_TRY(ChatTokenizer replaced, ChatTokenizer::load(source, chat_template, &json, stop, marks));
    return ModelTokenizer(std::make_unique<const ChatTokenizer>(std::move(replaced)));
  }
  Result<ChatTokenizer> chat = ChatTokenizer::load(source, chat_template, nullptr, stop, marks);
  if (chat) return ModelTokenizer(std::make_unique<const ChatTokenizer>(std::move(*chat)));
  if (required || chat.error().kind != ErrorKind::kNoWords) return std::unexpected(std::move(chat.error()));
  ModelTokenizer none;
  none.why_none_ = std::move(chat.error());
  return none;
}

}  // namespace octavo
