// Tokens that only a chat template may write: its role markers, and the ends of turns and answers.
//
// Converters often give these the type of a user-defined token, which is looked for in any text; then a chat message
// could end its own turn and begin another's. So a token that the template's own text becomes is reserved for it,
// whatever its type: content never becomes it, neither whole nor by merging, and the text of a raw completion does.
// Words and white space are not reserved, since content is made of them. Free functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "source/model_source.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// The key of a file's chat template; the keys of named templates have a dot and the name after it.
inline constexpr std::string_view kTemplateKey = "tokenizer.chat_template";
/// The most bytes of a template; a longer one is refused, so that no prompt is written by it.
inline constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20;

/// The texts that a Jinja source can write: the texts between its tags and the string literals inside them, in order.
/// The name of a field, as in message['role'], is left out.
std::vector<std::string> template_literals(std::string_view jinja);

/// Reserves the tokens of `vocab` that the file's templates (tokenizer.chat_template and the named ones) and `instead`
/// write, and those that end an answer. A marker that is put together around a role, '<|' + message['role'] + '|>',
/// counts as written with each of the usual roles.
void reserve_template_tokens(const ModelSource& source, std::string_view instead, Vocab& vocab);

}  // namespace octavo
