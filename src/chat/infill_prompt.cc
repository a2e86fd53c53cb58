#include "chat/infill_prompt.h"

#include "chat/infill_marks.h"
#include "tokenizer/text_encoder.h"

namespace octavo {
namespace {

/// Names without a meaning, as llama.cpp writes them: no client gives names for the repository and the gap's file.
constexpr std::string_view kRepositoryName = "myproject\n", kFileName = "filename\n";
/// The text between files where the model has no mark for them; llama.cpp has the same.
constexpr std::string_view kSnip = "\n\n--- snip ---\n\n";

class Writer {
 public:
  Writer(const Tokenizer& tokenizer, std::size_t max_tokens, RequestWork* work)
      : tokenizer_(tokenizer),
        options_({.add_special = false, .parse_special = false, .max_tokens = max_tokens, .work = work}) {}

  void add(TokenId mark) { tokens_.push_back(mark); }
  Result<void> add(std::string_view text) {
    if (text.empty()) return {};
    OCTAVO_TRY(const auto ids, tokenizer_.encode(text, options_));
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    return {};
  }
  std::vector<TokenId> take() { return std::move(tokens_); }

 private:
  const Tokenizer& tokenizer_;
  const TokenizeOptions options_;
  std::vector<TokenId> tokens_;
};

Result<std::vector<TokenId>> tokens_of_file(const Tokenizer& tokenizer, const InfillMarks& marks,
                                            const InfillText::File& file, std::size_t max_tokens, RequestWork* work) {
  Writer writer(tokenizer, max_tokens, work);
  if (marks.file) {
    writer.add(*marks.file);
    OCTAVO_TRY_VOID(writer.add(file.name + "\n"));
  } else {
    OCTAVO_TRY_VOID(writer.add(kSnip));
  }
  OCTAVO_TRY_VOID(writer.add(file.text));
  return writer.take();
}

/// The tokens of the marks and texts around the gap, which stand after the other files.
Result<std::vector<TokenId>> tokens_around_gap(const Tokenizer& tokenizer, const InfillMarks& marks,
                                               const InfillText& text, std::size_t max_tokens) {
  Writer writer(tokenizer, max_tokens, text.work);
  if (marks.file) {
    writer.add(*marks.file);
    OCTAVO_TRY_VOID(writer.add(kFileName));
  }
  writer.add(marks.prefix);
  OCTAVO_TRY_VOID(writer.add(text.prefix));
  writer.add(marks.suffix);
  OCTAVO_TRY_VOID(writer.add(text.suffix));
  writer.add(marks.middle);
  return writer.take();
}

}  // namespace

Result<InfillPrompt> make_infill_prompt(const ChatTokenizer& chat, const InfillText& text, std::size_t max_tokens) {
  const Tokenizer& tokenizer = chat.tokenizer();
  const InfillMarks* marks = chat.infill_marks();
  if (marks == nullptr)
    return fail_as(ErrorKind::kNoWords,
                   "the vocabulary has no tokens for a gap in the middle of a text (tokenizer.ggml.fim_pre_token_id)");
  Writer head(tokenizer, max_tokens, text.work);
  for (const TokenId token : tokenizer.text_prefix()) head.add(token);
  if (marks->repository) {
    head.add(*marks->repository);
    OCTAVO_TRY_VOID(head.add(kRepositoryName));
  }
  InfillPrompt prompt{.tokens = head.take()};
  OCTAVO_TRY(const auto gap, tokens_around_gap(tokenizer, *marks, text, max_tokens));
  std::size_t num_tokens = prompt.tokens.size() + gap.size();
  if (num_tokens > max_tokens) return too_many_tokens(max_tokens);
  std::vector<std::vector<TokenId>> files;  // the last file first
  for (std::size_t i = text.files.size(); i > 0; --i) {
    auto file = tokens_of_file(tokenizer, *marks, text.files[i - 1], max_tokens, text.work);
    if (!file && file.error().kind != ErrorKind::kContextOverflow) return std::unexpected(file.error());
    if (!file || num_tokens + file->size() > max_tokens) {
      prompt.files_left_out = static_cast<int>(i);
      break;
    }
    num_tokens += file->size();
    files.push_back(std::move(*file));
  }
  for (std::size_t i = files.size(); i > 0; --i)
    prompt.tokens.insert(prompt.tokens.end(), files[i - 1].begin(), files[i - 1].end());
  prompt.tokens.insert(prompt.tokens.end(), gap.begin(), gap.end());
  return prompt;
}

}  // namespace octavo
