#include "server/openai_models.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <iterator>
#include <string_view>
#include <utility>

#include "api/prepare/prepare_vectors.h"
#include "base/utf8.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

std::string_view status_of(const ModelSlot& slot) {
  switch (slot.state()) {
    case ModelSlot::State::kUnloaded: return "unloaded";
    case ModelSlot::State::kLoading: return "loading";
    case ModelSlot::State::kServing: return "loaded";
    case ModelSlot::State::kClosing:
    case ModelSlot::State::kUnloading: return "unloading";
  }
  return "";
}

json::array aliases_of(const ModelSlot& slot) {
  if (slot.model()) return json::array(slot.model()->aliases.begin(), slot.model()->aliases.end());
  json::array aliases;
  for (const std::string& name : slot.entry().names)
    if (name != slot.id()) aliases.emplace_back(to_valid_utf8(name));
  return aliases;
}

/// The abilities of the model, as kinds of routes, and llama.cpp's word for a model that sees.
json::array capabilities_of(const ModelInfo& info, const RequestPolicy& policy) {
  json::array capabilities;
  if (writes_text(info, policy)) capabilities.emplace_back("completion");
  if (makes_vectors(info, policy)) capabilities.emplace_back("embedding");
  if (ranks(info, policy)) capabilities.emplace_back("rerank");
  if (info.vision.sees()) capabilities.emplace_back("multimodal");
  return capabilities;
}

/// A kind of vocabulary, under GGUF's name and llama.cpp's number (enum llama_vocab_type).
struct VocabularyKind {
  std::string_view name;
  int number;
};
constexpr VocabularyKind kVocabularies[] = {{.name = "no_vocab", .number = 0}, {.name = "llama", .number = 1},
                                            {.name = "gpt2", .number = 2},     {.name = "bert", .number = 3},
                                            {.name = "t5", .number = 4},       {.name = "rwkv", .number = 5},
                                            {.name = "plamo2", .number = 6},   {.name = "gemma4", .number = 2}};

/// The members that llama.cpp's server has of a model. Numbers that are not known are left out.
json::object meta_of(const ModelInfo& info) {
  const ModelFile& file = info.file;
  json::object meta = {{"n_ctx", info.max_context}};
  const auto* const vocabulary = std::ranges::find(kVocabularies, file.vocabulary, &VocabularyKind::name);
  if (vocabulary != std::end(kVocabularies)) meta["vocab_type"] = vocabulary->number;
  if (info.vocab_size > 0) meta["n_vocab"] = info.vocab_size;
  if (file.context_length > 0) meta["n_ctx_train"] = file.context_length;
  if (file.width > 0) meta["n_embd"] = file.width;
  if (file.num_weights > 0) meta["n_params"] = file.num_weights;
  if (file.weight_bytes > 0) meta["size"] = file.weight_bytes;
  return meta;
}

}  // namespace

json::object openai_model(const ModelSlot& slot, const RequestPolicy& policy) {
  json::object model = {{"id", slot.id()},
                        {"object", "model"},
                        {"created", slot.created()},
                        {"owned_by", "octavo"},
                        {"aliases", aliases_of(slot)}};
  if (const ModelInfo* known = slot.known(); known != nullptr) {
    model["max_model_len"] = known->max_context;   // vLLM's name
    model["context_length"] = known->max_context;  // OpenRouter's
    model["meta"] = meta_of(*known);
    model["capabilities"] = capabilities_of(*known, policy);
  }
  json::object status = {{"value", status_of(slot)}, {"args", json::array()}};
  if (slot.load_error()) {
    status["failed"] = true;
    status["error"] = to_valid_utf8(slot.load_error()->message);
  }
  model["status"] = std::move(status);
  return model;
}

json::object openai_models(const std::list<ModelSlot>& models, const RequestPolicy& policy) {
  json::array list;
  for (const ModelSlot& slot : models)
    if (!slot.is_removed()) list.push_back(openai_model(slot, policy));
  return {{"object", "list"}, {"data", std::move(list)}};
}

}  // namespace octavo::server
