#include "tokenizer/json/json_word_source.h"

#include <algorithm>

#include "base/to_size.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::int32_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5,
                       kByte = 6;  // tokenizer.ggml.token_type

/// Whether a key is about the model, not about its words.
bool is_kept(std::string_view key) {
  if (key == "tokenizer.huggingface.json" || key == "tokenizer.ggml.unknown_token_id") return false;
  if (!key.starts_with(kPrefix)) return true;
  return key.ends_with("_token_id") || key.ends_with("_token_ids") || key.ends_with("suppress_tokens");
}

std::string_view model_name(const TokenizerJson& words) {
  switch (words.model) {
    case JsonModel::kWordPiece: return "bert";
    case JsonModel::kUnigram: return "t5";
    case JsonModel::kBpe: break;
  }
  return words.pipeline.is_byte_level ? "gpt2" : "gemma4";
}

bool is_byte_token(std::string_view text) { return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>'); }

}  // namespace

Result<JsonWordSource> JsonWordSource::create(const TokenizerJson& words, const ModelSource* model) {
  JsonWordSource source;
  source.model_ = model;
  source.files_ = {.path = words.file, .format = "tokenizer.json"};
  std::size_t num_ids = words.num_ids();
  if (model != nullptr) {
    source.files_ = model->files();
    for (const auto& [key, value] : model->metadata())
      if (is_kept(key)) *source.directory_.add(key) = value;
    for (const SourceTensor& tensor : model->tensors()) source.directory_.add(tensor);
    if (const SourceTensor* embedding = model->find_tensor(kEmbedding)) {
      const auto num_rows = to_size(embedding->tensor.rows);
      if (words.tokens.size() > num_rows)
        return fail("{}: found ids from 0 to {}, but the vocabulary of {} has {}", words.file, words.tokens.size() - 1,
                    model->name(), num_rows);
      num_ids = std::min(num_ids, num_rows);
    }
  }
  source.add_tokens(words, num_ids);
  const TokenizerJsonPipeline& pipeline = words.pipeline;
  const TextFrame& frame = pipeline.frame;
  if (!frame.prefix.empty()) source.add_id("tokenizer.ggml.bos_token_id", frame.prefix.front());
  if (!frame.suffix.empty()) source.add_id("tokenizer.ggml.eos_token_id", frame.suffix.back());
  if (words.unknown.token >= 0) source.add_id("tokenizer.ggml.unknown_token_id", words.unknown.token);
  return source;
}

void JsonWordSource::add_tokens(const TokenizerJson& words, std::size_t num_ids) {
  MetadataArray tokens;
  tokens.element_type = MetadataType::kString;
  tokens.size = num_ids;
  tokens.strings.resize(num_ids);
  types_.assign(num_ids, kUnused);
  for (std::size_t id = 0; id < words.tokens.size(); ++id) {
    if (words.tokens[id].empty()) continue;
    tokens.strings[id] = words.model == JsonModel::kWordPiece ? marked_word(words, id) : words.tokens[id];
    types_[id] = words.pipeline.decodes_bytes && is_byte_token(words.tokens[id]) ? kByte : kNormal;
  }
  for (const JsonAddedToken& token : words.added_tokens) {
    if (!has(token.id)) continue;
    tokens.strings[to_size(token.id)] = token.text;
    types_[to_size(token.id)] = token.is_special ? kControl : kUserDefined;
  }
  for (std::size_t id = 0; id < num_ids; ++id) {
    if (!tokens.strings[id].empty()) continue;
    tokens.strings[id] = made_up_.emplace_back(fmt::format("[no token {}]", id));
  }
  *directory_.add("tokenizer.ggml.model") = {MetadataType::kString, model_name(words)};
  *directory_.add("tokenizer.ggml.tokens") = {MetadataType::kArray, std::move(tokens)};
  MetadataArray types;
  types.element_type = MetadataType::kInt32;
  types.size = num_ids;
  types.bytes = std::as_bytes(std::span(types_));
  *directory_.add("tokenizer.ggml.token_type") = {MetadataType::kArray, std::move(types)};
}

/// A token of WordPiece as GGUF writes it: with U+2581 where it begins a word.
std::string_view JsonWordSource::marked_word(const TokenizerJson& words, std::size_t id) {
  const std::string_view text = words.tokens[id];
  if (text.starts_with(words.continuation) && text != words.continuation) return text.substr(words.continuation.size());
  return made_up_.emplace_back(fmt::format("{}{}", kSpaceMark, text));
}

void JsonWordSource::add_id(std::string_view key, TokenId id) {
  if (MetadataValue* value = directory_.add(key)) *value = {MetadataType::kUint32, static_cast<std::uint64_t>(id)};
}

std::vector<std::span<const std::byte>> JsonWordSource::heads() const {
  return model_ == nullptr ? std::vector<std::span<const std::byte>>() : model_->heads();
}

Result<void> JsonWordSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (model_ == nullptr) return fail("{}: found no tensors, expected some at {}", name(), offset);
  return model_->read(offset, out);
}

void JsonWordSource::prefetch(std::uint64_t offset, std::uint64_t size) const {
  if (model_ != nullptr) model_->prefetch(offset, size);
}

}  // namespace octavo
