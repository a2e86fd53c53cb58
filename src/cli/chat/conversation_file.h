// A conversation in a file, for /save and /load of `octavo chat`: JSON with OpenAI's messages, where each answer also
// has the tokens that were drawn.
//
//     {"octavo_conversation": 1, "model": "smollm2", "messages": [{"role": "system", "content": "Be brief."},
//      {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!", "tokens": [19556, 17]}]}
//
// Pictures before a question are `images` beside it, in base64, as ollama has them.
// Free functions; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/chat/conversation.h"

namespace octavo::cli {

inline constexpr std::size_t kMaxConversationBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxConversationMessages = 2000;

struct SavedConversation {
  std::string system = {};  // empty: none
  std::vector<ChatTurn> turns = {};
};

/// Reads a conversation. Errors: it is not JSON of that form, with the field; it is too large. A system message may
/// come first, then questions and answers alternate, and an answer is last. Tokens are not compared with any
/// vocabulary.
Result<SavedConversation> parse_conversation(std::string_view text);
std::string conversation_to_json(const Conversation& conversation, std::string_view model);

/// Loads a file. Errors name it. Tokens that do not spell their answer in `words` are dropped: another model has drawn
/// them, or somebody has changed the text.
Result<SavedConversation> load_conversation(const std::filesystem::path& path, const ModelText& words);
/// Saves to a new file, or over one that is a conversation; any other file is refused. Readers see the old contents or
/// the new ones.
Result<void> save_conversation(const std::filesystem::path& path, const Conversation& conversation,
                               std::string_view model);

}  // namespace octavo::cli
