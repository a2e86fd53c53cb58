// Any bytes as a saved conversation. It is refused in words, or what it says is saved and loaded again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "api/fake_text.h"
#include "cli/chat/conversation_file.h"

namespace {

using namespace octavo;
using namespace octavo::cli;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const std::string& text) {
  static const test::FakeText words;
  Result<SavedConversation> saved = parse_conversation(text);
  if (!saved) return require(!saved.error().message.empty());
  require(saved->turns.size() <= kMaxConversationMessages);
  for (const ChatTurn& turn : saved->turns) require(turn.is_answered);
  Conversation conversation(test::not_owned(words));
  conversation.set_system(saved->system);
  conversation.replace_turns(saved->turns);
  const auto again = parse_conversation(conversation_to_json(conversation, "model"));
  require(again && again->system == saved->system && again->turns.size() == saved->turns.size());
  for (std::size_t i = 0; i < saved->turns.size(); ++i) {
    require(again->turns[i].question == saved->turns[i].question && again->turns[i].answer == saved->turns[i].answer);
    require(again->turns[i].drawn == saved->turns[i].drawn);
    require(again->turns[i].reasoning == saved->turns[i].reasoning);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check(input);
  // Random bytes are hardly ever JSON: the same as what a file has behind its first field.
  check(R"({"octavo_conversation":1,"messages":[{"role":"user","content":"a"},{"role":"assistant",)" + input);
  return 0;
}
