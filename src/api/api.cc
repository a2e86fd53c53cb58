#include "api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/answers/resumed_writer.h"
#include "api/fields/image_placeholder.h"
#include "api/llama/llama_answer.h"
#include "api/llama/llama_request.h"
#include "api/messages/messages_answer.h"
#include "api/messages/messages_request.h"
#include "api/ollama/ollama_answer.h"
#include "api/ollama/ollama_request.h"
#include "api/openai/openai_chat.h"
#include "api/openai/openai_completion.h"
#include "api/prepare/prepare.h"
#include "api/prepare/prepare_vectors.h"
#include "api/request_text.h"
#include "api/responses/responses_answer.h"
#include "api/responses/responses_request.h"
#include "api/vectors/cohere_answer.h"
#include "api/vectors/cohere_fields.h"
#include "api/vectors/rank_fields.h"
#include "api/vectors/vector_answer.h"
#include "api/vectors/vector_fields.h"
#include "base/error.h"

namespace octavo {
namespace {

/// Reads a body with kRead, and prepares what it asks for.
template <ApiResult<ApiRequest> (*kRead)(const boost::json::object&, const ApiContext&)>
ApiResult<CompletionCall> parse_by(const boost::json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request, kRead(body, context));
  return prepare(std::move(request), context.words, context.model);
}

/// The writer, or one that leaves out what the client of a call that goes on with an answer has had.
std::unique_ptr<AnswerWriter> going_on(const CompletionCall& call, std::unique_ptr<AnswerWriter> writer) {
  if (!call.resumption) return writer;
  return std::make_unique<ResumedWriter>(std::move(writer), *call.resumption, call.stream);
}

/// The answer's id: the one that it had before it broke off, or a new one.
std::string id_of(const NewAnswer& answer, std::string_view prefix) {
  if (answer.call.resumption && !answer.call.resumption->id.empty()) return answer.call.resumption->id;
  return fmt::format("{}{}", prefix, answer.id);
}

std::unique_ptr<AnswerWriter> openai_writer(const NewAnswer& answer) {
  const std::string id = id_of(answer, answer.call.is_chat ? "chatcmpl-" : "cmpl-");
  return going_on(answer.call,
                  std::make_unique<CompletionResponse>(answer.call, answer.words, answer.model, id, answer.created));
}

std::unique_ptr<AnswerWriter> messages_writer(const NewAnswer& answer) {
  return going_on(answer.call, std::make_unique<MessagesAnswer>(answer.call, id_of(answer, "msg_"), answer.model));
}

std::unique_ptr<AnswerWriter> responses_writer(const NewAnswer& answer) {
  return going_on(answer.call,
                  std::make_unique<ResponsesAnswer>(answer.call, answer.words, answer.model, answer.created));
}

std::string refused_response(const RefusedStream& refused) {
  return refused_response_stream(refused.error, refused.model, refused.id, refused.created);
}

std::unique_ptr<AnswerWriter> llama_writer(const NewAnswer& answer) {
  return std::make_unique<LlamaAnswer>(answer.call, std::string(answer.id), answer.model.id, answer.words);
}

template <bool kIsChat>
std::unique_ptr<AnswerWriter> ollama_writer(const NewAnswer& answer) {
  return std::make_unique<OllamaAnswer>(answer.call, std::string(answer.id), answer.model.id, answer.words, kIsChat);
}

template <VectorList kList>
std::unique_ptr<AnswerWriter> vector_writer(const NewAnswer& answer) {
  return std::make_unique<VectorAnswer>(answer.call, answer.model.id, kList);
}

template <int kVersion>
std::unique_ptr<AnswerWriter> cohere_writer(const NewAnswer& answer) {
  return std::make_unique<CohereAnswer>(answer.call, "embed-" + std::string(answer.id), kVersion);
}

template <ScoreList kList>
std::unique_ptr<AnswerWriter> score_writer(const NewAnswer& answer) {
  const std::string_view prefix = kList == ScoreList::kRanks ? "rerank-" : "score-";
  return std::make_unique<ScoreAnswer>(answer.call, answer.model.id, std::string(prefix) + std::string(answer.id),
                                       answer.created, kList);
}

template <bool kIsChat>
std::string unloaded(std::string_view model, std::span<const std::string> warnings) {
  return ollama_unloaded(model, kIsChat, warnings);
}

constexpr std::string_view kChatExample = R"({"messages": [{"role": "user", "content": "Hello"}]})";
constexpr std::string_view kTextExample = R"({"prompt": "Hello"})";
constexpr std::string_view kResponsesTokens = R"({"object":"response.input_tokens","input_tokens":)";

constinit const Api kApis[] = {
    {.name = "openai_chat",
     .summary = "Answers a conversation, as OpenAI has it",
     .paths = {"/v1/chat/completions"},
     .example = kChatExample,
     .serves = writes_text,
     .fields = openai_chat_fields,
     .parse = parse_by<read_openai_chat>,
     .make_writer = openai_writer,
     .error_body = error_body,
     .rendered = {.path = "/v1/chat/completions/render"}},
    {.name = "openai_completion",
     .summary = "Goes on with a text or token ids, as OpenAI has it",
     .paths = {"/v1/completions"},
     .example = kTextExample,
     .serves = writes_text,
     .fields = openai_completion_fields,
     .parse = parse_by<read_openai_completion>,
     .make_writer = openai_writer,
     .error_body = error_body,
     .rendered = {.path = "/v1/completions/render", .is_list = true}},
    {.name = "messages",
     .summary = "Answers a conversation, as Anthropic has it",
     .paths = {"/v1/messages"},
     .example = R"({"max_tokens": 50, "messages": [{"role": "user", "content": "Hello"}]})",
     .serves = writes_text,
     .root = "/v1/messages",
     .fields = messages_fields,
     .parse = parse_by<read_messages>,
     .make_writer = messages_writer,
     .error_body = messages_error_body,
     .counted = {.path = "/v1/messages/count_tokens",
                 .fields = counted_messages_fields,
                 .read = read_counted_messages,
                 .answer = R"({"input_tokens":)"},
     .rendered = {.path = "/v1/messages/render"}},
    {.name = "responses",
     .summary = "Answers a conversation that the server may keep, as OpenAI has it",
     .paths = {"/v1/responses"},
     .example = R"({"input": "Hello"})",
     .serves = writes_text,
     .fields = responses_fields,
     .parse = parse_response_call,
     .make_writer = responses_writer,
     .error_body = error_body,
     .refused_stream = refused_response,
     .counted = {.path = "/v1/responses/input_tokens",
                 .fields = responses_fields,
                 .read = read_counted_response,
                 .answer = kResponsesTokens},
     .rendered = {.path = "/v1/responses/render"}},
    {.name = "llama_completion",
     .summary = "Goes on with a text or token ids, as llama.cpp has it",
     .paths = {"/completion", "/completions"},
     .example = kTextExample,
     .serves = writes_text,
     .fields = llama_completion_fields,
     .parse = parse_by<read_llama_completion>,
     .make_writer = llama_writer,
     .error_body = error_body},
    {.name = "llama_infill",
     .summary = "Fills a gap in a text, as llama.cpp has it",
     .paths = {"/infill"},
     .example = R"({"input_prefix": "The sky is ", "input_suffix": " at noon."})",
     .serves = writes_text,
     .fields = llama_infill_fields,
     .parse = parse_by<read_llama_infill>,
     .make_writer = llama_writer,
     .error_body = error_body},
    {.name = "ollama_chat",
     .summary = "Answers a conversation, as ollama has it",
     .paths = {"/api/chat"},
     .example = kChatExample,
     .serves = writes_text,
     .root = "/api/",
     .fields = ollama_chat_fields,
     .parse = parse_by<read_ollama_chat>,
     .make_writer = ollama_writer<true>,
     .stream_type = "application/x-ndjson",
     .error_body = ollama_error_body,
     .has_tags = true,
     .unloaded = unloaded<true>},
    {.name = "ollama_generate",
     .summary = "Answers a message or goes on with a text, as ollama has it",
     .paths = {"/api/generate"},
     .example = kTextExample,
     .serves = writes_text,
     .root = "/api/",
     .fields = ollama_generate_fields,
     .parse = parse_by<read_ollama_generate>,
     .make_writer = ollama_writer<false>,
     .stream_type = "application/x-ndjson",
     .error_body = ollama_error_body,
     .has_tags = true,
     .unloaded = unloaded<false>},
    {.name = "openai_embedding",
     .summary = "Makes vectors of texts, as OpenAI has it",
     .paths = {"/v1/embeddings"},
     .example = R"({"input": "Hello"})",
     .serves = makes_vectors,
     .fields = openai_embedding_fields,
     .parse = parse_by<read_openai_embedding>,
     .make_writer = vector_writer<VectorList::kOpenAi>,
     .stream_type = {},
     .error_body = error_body},
    {.name = "llama_embedding",
     .summary = "Makes vectors of texts or of their tokens, as llama.cpp has it",
     .paths = {"/embedding", "/embeddings"},
     .example = R"({"content": "Hello"})",
     .serves = makes_vectors,
     .fields = llama_embedding_fields,
     .parse = parse_by<read_llama_embedding>,
     .make_writer = vector_writer<VectorList::kLlama>,
     .stream_type = {},
     .error_body = error_body},
    {.name = "ollama_embed",
     .summary = "Makes vectors of texts, as ollama has it",
     .paths = {"/api/embed"},
     .example = R"({"input": "Hello"})",
     .serves = makes_vectors,
     .fields = ollama_embed_fields,
     .parse = parse_by<read_ollama_embed>,
     .make_writer = vector_writer<VectorList::kOllama>,
     .stream_type = {},
     .error_body = ollama_error_body,
     .has_tags = true},
    {.name = "ollama_embedding",
     .summary = "Makes the vector of a text, as ollama had it first",
     .paths = {"/api/embeddings"},
     .example = kTextExample,
     .serves = makes_vectors,
     .fields = ollama_embedding_fields,
     .parse = parse_by<read_ollama_embedding>,
     .make_writer = vector_writer<VectorList::kOllamaOne>,
     .stream_type = {},
     .error_body = ollama_error_body,
     .has_tags = true},
    {.name = "tei_embed",
     .summary = "Makes vectors of texts, as Hugging Face's server of embeddings has it",
     .paths = {"/embed"},
     .example = R"({"inputs": "Hello"})",
     .serves = makes_vectors,
     .fields = tei_embed_fields,
     .parse = parse_by<read_tei_embed>,
     .make_writer = vector_writer<VectorList::kTei>,
     .stream_type = {},
     .error_body = tei_error_body},
    {.name = "tei_embed_all",
     .summary = "Makes a vector of each token of texts, as Hugging Face's server of embeddings has it",
     .paths = {"/embed_all"},
     .example = R"({"inputs": "Hello"})",
     .serves = makes_vectors,
     .fields = tei_embed_all_fields,
     .parse = parse_by<read_tei_embed_all>,
     .make_writer = vector_writer<VectorList::kTeiRows>,
     .stream_type = {},
     .error_body = tei_error_body},
    {.name = "tei_similarity",
     .summary = "Compares texts with one, as Hugging Face's server of embeddings has it",
     .paths = {"/similarity"},
     .example = R"({"inputs": {"source_sentence": "Hello", "sentences": ["Hi", "Bye"]}})",
     .serves = makes_vectors,
     .fields = tei_similarity_fields,
     .parse = parse_by<read_tei_similarity>,
     .make_writer = score_writer<ScoreList::kNumbers>,
     .stream_type = {},
     .error_body = tei_error_body},
    {.name = "cohere_embed_v1",
     .summary = "Makes vectors of texts, as Cohere had it first",
     .paths = {"/v1/embed"},
     .example = R"({"texts": ["Hello"], "input_type": "search_query"})",
     .serves = makes_vectors,
     .fields = cohere_embed_fields,
     .parse = parse_by<read_cohere_embed>,
     .make_writer = cohere_writer<1>,
     .stream_type = {},
     .error_body = cohere_error_body},
    {.name = "cohere_embed",
     .summary = "Makes vectors of texts, as Cohere has it",
     .paths = {"/v2/embed"},
     .example = R"({"texts": ["Hello"], "input_type": "search_query", "embedding_types": ["float"]})",
     .serves = makes_vectors,
     .fields = cohere_embed_fields,
     .parse = parse_by<read_cohere_embed>,
     .make_writer = cohere_writer<2>,
     .stream_type = {},
     .error_body = cohere_error_body},
    {.name = "rerank",
     .summary = "Ranks documents by how well they answer a query, as Jina, Cohere and Hugging Face have it",
     .paths = {"/v1/rerank", "/v1/reranking", "/v2/rerank", "/rerank", "/reranking"},
     .example = R"({"query": "What is red?", "documents": ["Roses are.", "Violets are not."]})",
     .serves = ranks,
     .fields = rerank_fields,
     .parse = parse_by<read_rerank>,
     .make_writer = score_writer<ScoreList::kRanks>,
     .stream_type = {},
     .error_body = error_body,
     .other_errors = {{{"/v2/rerank", cohere_error_body}, {"/rerank", tei_error_body}}}},
    {.name = "score",
     .summary = "Scores pairs of texts, as vLLM has it",
     .paths = {"/v1/score", "/score"},
     .example = R"({"text_1": "What is red?", "text_2": "Roses are."})",
     .serves = scores_pairs,
     .fields = score_fields,
     .parse = parse_by<read_score>,
     .make_writer = score_writer<ScoreList::kScores>,
     .stream_type = {},
     .error_body = error_body},
};

}  // namespace

std::span<const Api> all_apis() { return kApis; }

WriteError error_form(std::span<const Api> apis, std::string_view path) {
  const auto has = [path](const Api& api) {
    return (!api.root.empty() && path.starts_with(api.root)) || std::ranges::find(api.paths, path) != api.paths.end();
  };
  const auto found = std::ranges::find_if(apis, has);
  if (path.empty() || found == apis.end()) return error_body;  // empty paths in the rows stand for none
  const auto other = std::ranges::find(found->other_errors, path, &ErrorForm::path);
  return other == found->other_errors.end() ? found->error_body : other->write;
}

ApiResult<CompletionCall> parse_call(const Api& api, boost::json::object body, const ModelText& words,
                                     const ServedModel& model, const OwnResponses& responses,
                                     const std::stop_token& stop, std::span<const TokenId> prompt,
                                     const UnfetchedPictures* unfetched) {
  const bool is_blind = !words.info().vision.sees() && !model.policy.image_placeholder.empty();
  const std::size_t num_images = is_blind ? replace_images(body, model.policy.image_placeholder) : 0;
  const RequestText own(words, stop, responses.body_bytes);
  const ApiContext context{
      .words = own, .model = model, .responses = &responses, .prompt = prompt, .unfetched = unfetched};
  OCTAVO_TRY(CompletionCall call, api.parse(body, context));
  if (num_images > 0)
    call.warnings.push_back(
        fmt::format("{} of the request's images are replaced by the text '{}': the model reads text", num_images,
                    model.policy.image_placeholder));
  if (!call.requests.empty()) call.dry_breakers = words.find_dry_breakers(call.requests.front().sampling);
  return call;
}

}  // namespace octavo
