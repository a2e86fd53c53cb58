// Calls for vectors and scores of texts, by each API: what the engine is asked for, and how its numbers are told.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/evp.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "api/api_named.h"
#include "api/call/vector_call.h"
#include "api/fake_text.h"
#include "api/prepare/relevance.h"
#include "api/prepare/shorter_vectors.h"
#include "api/vectors/tei_info.h"
#include "api/vectors/vector_answer.h"

namespace octavo {
namespace {

namespace json = boost::json;
using test::FakeText;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<float>>;  // of each request, one behind the other

class Vectors : public ::testing::Test {
 protected:
  Vectors() { words_.embedding() = {.generates = false, .pooling = Pooling::kMean, .width = 2}; }

  ApiResult<CompletionCall> parse(std::string_view api, const std::string& body) {
    return parse_call(api_named(api), json::parse(body).as_object(), words_, model_, {});
  }
  ApiError error_of(std::string_view api, const std::string& body) {
    const auto call = parse(api, body);
    EXPECT_FALSE(call.has_value()) << body;
    return call ? ApiError{.status = 200} : call.error();
  }
  /// The request for the words; control tokens are their texts.
  std::vector<std::string> prompts(std::string_view api, const std::string& body) {
    const auto call = parse(api, body);
    EXPECT_TRUE(call.has_value()) << body << ": " << call.error().message;
    std::vector<std::string> texts;
    if (call)
      for (const Request& request : call->requests) {
        EXPECT_EQ(request.max_tokens, -1);
        EXPECT_TRUE(request.embedding.on_rows);
        texts.push_back(words_.detokenize(request.tokens));
      }
    return texts;
  }
  /// The answer where the engine gives these floats, the last request's first.
  std::string answer(std::string_view api, const std::string& body, const Rows& rows) {
    const auto call = parse(api, body);
    EXPECT_TRUE(call.has_value()) << body << ": " << call.error().message;
    if (!call) return "";
    const auto writer = api_named(api).make_writer(
        {.call = *call, .words = test::not_owned(words_), .model = model_, .id = "0123", .created = 7});
    EXPECT_EQ(call->requests.size(), rows.size());
    for (std::size_t i = rows.size(); i-- > 0;) {
      EXPECT_FALSE(writer->done());
      call->requests.at(i).embedding.on_rows(0, 1, rows[i]);
      RequestEvent event;
      event.prompt_index = i;
      event.finish = FinishReason::kLength;
      EXPECT_EQ(writer->on_event(event), "");
    }
    if (writer->error() != nullptr) return writer->error()->message;
    EXPECT_TRUE(writer->done());
    return writer->finish();
  }
  json::value parsed_answer(std::string_view api, const std::string& body, const Rows& rows) {
    return json::parse(answer(api, body, rows));
  }

  FakeText words_;
  ServedModel model_{.id = "vectors"};
};

TEST_F(Vectors, AnInputIsATextOrIdsOrAnArrayOfThese) {
  const auto input = [this](const std::string& value) {
    return prompts("openai_embedding", R"({"input": )" + value + "}");
  };
  EXPECT_THAT(input(R"("ab")"), ElementsAre("ab<end>"));
  EXPECT_THAT(input(R"(["ab", "c"])"), ElementsAre("ab<end>", "c<end>"));
  EXPECT_THAT(input("[97, 98]"), ElementsAre("ab"));  // ids are taken as they are
  EXPECT_THAT(input(R"([[97, 98], [99], "d"])"), ElementsAre("ab", "c", "d<end>"));
  EXPECT_THAT(prompts("openai_embedding", R"({"input": "ab", "add_special_tokens": false})"), ElementsAre("ab"));
}

TEST_F(Vectors, AWrongInputIsNamedByItsPlace) {
  const auto message = [this](const std::string& value) {
    const ApiError error = error_of("openai_embedding", R"({"input": )" + value + "}");
    EXPECT_EQ(error.status, 400);
    return error.message;
  };
  EXPECT_EQ(message("null"),
            "input: found none, expected a string, an array of token ids, an object with a content or a prompt_string, "
            "or an array of these");
  EXPECT_EQ(message("[]"), "input: found an empty array, expected a text");
  EXPECT_EQ(message(R"("")"), "input: found an empty text, expected at least one character");
  EXPECT_EQ(message(R"(["a", ""])"), "input[1]: found an empty text, expected at least one character");
  EXPECT_EQ(message(R"(["a", []])"), "input[1]: found no token ids, expected at least one");
  EXPECT_THAT(
      message(R"(["a", true])"),
      HasSubstr("input[1]: found true, expected a string, an array of token ids, or an object with a prompt_string"));
  EXPECT_THAT(message("[97, 264]"), HasSubstr("input[1]: found the number 264, expected a token id from 0 to 263"));
  EXPECT_THAT(message("[[97], [-1]]"), HasSubstr("input[1][0]: found the number -1"));
  EXPECT_THAT(message("[[97], [1.5]]"), HasSubstr("input[1][0]: found the number 1.5"));
  EXPECT_THAT(message("true"), HasSubstr("input: found true, expected a string"));
}

TEST_F(Vectors, AQueryIsReadOnceForItsDocuments) {
  words_.embedding().labels = {""};
  words_.embedding().pooling = Pooling::kRank;
  EXPECT_EQ(prompts("rerank", R"({"query": "q", "documents": ["a", "b", "c"]})").size(), 3U);
  ASSERT_EQ(words_.queries.size(), 1U);
  EXPECT_NE(*words_.queries.begin(), nullptr);
  words_.queries.clear();
  prompts("rerank", R"({"query": "q", "documents": ["a", "b"], "max_tokens_per_doc": 5})");
  EXPECT_EQ(words_.queries.size(), 1U) << "also for the room that a document has beside it";
}

TEST_F(Vectors, TextsAndTheirTokensAreBounded) {
  json::array texts(kMaxTexts, "a");
  const auto body = [&] { return json::serialize(json::object{{"input", texts}}); };
  EXPECT_EQ(prompts("openai_embedding", body()).size(), kMaxTexts);
  texts.emplace_back("a");
  EXPECT_EQ(error_of("openai_embedding", body()).message, "input: found 2049 texts, expected at most 2048");
  texts = json::array(kMaxTexts + 1, 97);
  EXPECT_THAT(error_of("openai_embedding", body()).message, HasSubstr("resulted in 2049 tokens"));
}

TEST_F(Vectors, AllTokensOfACallAreBounded) {
  words_.set_context(1000);
  json::array texts(kMaxTexts, json::string(kMaxTokensOfTexts / kMaxTexts - 1, 'a'));  // and the end
  EXPECT_TRUE(parse("openai_embedding", json::serialize(json::object{{"input", texts}})));
  texts.back() = json::string(kMaxTokensOfTexts / kMaxTexts, 'a');
  const ApiError error = error_of("openai_embedding", json::serialize(json::object{{"input", texts}}));
  EXPECT_EQ(error.param, "input[2047]");
  EXPECT_EQ(error.message, "input[2047]: found 1048577 tokens up to this text, expected at most 1048576 in a request");
}

TEST_F(Vectors, ALongTextIsRefusedOrCutWhereTheBodySaysSo) {
  const std::string text(100, 'a');  // of a context of 100, with the end token one too many
  const auto body = [&](const std::string& more) { return R"({"input": ["b", ")" + text + "\"]" + more + "}"; };
  const ApiError error = error_of("openai_embedding", body(""));
  EXPECT_EQ(error.code, "context_length_exceeded");
  EXPECT_EQ(error.param, "input[1]");
  EXPECT_THAT(error.message, HasSubstr("100 tokens. However, your input[1] resulted in 101 tokens"));
  const auto last = [&](const std::string& more) { return prompts("openai_embedding", body(more)).at(1); };
  EXPECT_EQ(last(R"(, "truncate_prompt_tokens": -1)"), std::string(99, 'a') + "<end>");
  EXPECT_EQ(last(R"(, "truncate_prompt_tokens": 5)"), "aaaa<end>");
  EXPECT_EQ(error_of("openai_embedding", body(R"(, "truncate_prompt_tokens": 101)")).message,
            "truncate_prompt_tokens: found 101, expected at most 100, the context");
  EXPECT_THAT(error_of("openai_embedding", body(R"(, "truncate_prompt_tokens": 0)")).message,
              HasSubstr("truncate_prompt_tokens: found the number 0, expected an integer from 1, or -1"));
  EXPECT_THAT(prompts("openai_embedding", R"({"input": [97, 98, 99], "truncate_prompt_tokens": 2})"),
              ElementsAre("ab"));
  EXPECT_EQ(prompts("ollama_embed", R"({"input": ")" + text + "\"}").at(0), std::string(99, 'a') + "<end>");
  EXPECT_EQ(error_of("ollama_embed", R"({"truncate": false, "input": ")" + text + "\"}").code,
            "context_length_exceeded");
  EXPECT_EQ(error_of("tei_embed", R"({"inputs": ")" + text + "\"}").code, "context_length_exceeded");
  EXPECT_EQ(prompts("tei_embed", R"({"truncate": true, "inputs": ")" + text + "\"}").at(0),
            std::string(99, 'a') + "<end>");
}

TEST_F(Vectors, ARefusalForLengthSaysHowManyTokensThereAre) {
  const auto message = [this](const std::string& text, const std::string& more = "") {
    return error_of("openai_embedding", R"({"input": ")" + text + "\"" + more + "}").message;
  };
  EXPECT_EQ(
      message(std::string(250, 'a')),
      "This model's maximum context length is 100 tokens. However, your input resulted in 251 tokens. Please "
      "reduce the length of the input. The request (251 tokens) exceeds the available context size (100 tokens).");
  EXPECT_THAT(message(std::string(250, 'a'), R"(, "add_special_tokens": false)"), HasSubstr("resulted in 250 tokens"));
  words_.embedding().prompts = {{"query", "query: "}};
  EXPECT_THAT(message(std::string(250, 'a'), R"(, "prompt_name": "query")"), HasSubstr("resulted in 258 tokens"));
  EXPECT_THAT(message(std::string(100'000, 'a')),
              AllOf(HasSubstr("resulted in 65538 tokens"), HasSubstr("There may be more tokens")))
      << "no more are counted";
  words_.num_ends = 2;
  EXPECT_EQ(message("a", R"(, "truncate_prompt_tokens": 1)"),
            "truncate_prompt_tokens: found 1, expected at least 2: so many tokens of input are not cut");
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a", "truncate_prompt_tokens": 2})").at(0), "<end><end>");
}

TEST_F(Vectors, OpenAisAnswerHasEachVectorInOrderAndTheTokens) {
  const json::value whole = parsed_answer("openai_embedding", R"({"input": ["ab", "c"]})", {{3, 4}, {0, -2}});
  EXPECT_EQ(json::serialize(whole),
            R"({"object":"list","model":"vectors","data":[{"object":"embedding","index":0,"embedding":[6E-1,)"
            R"(8E-1]},{"object":"embedding","index":1,"embedding":[0,-1]}],)"
            R"("usage":{"prompt_tokens":5,"total_tokens":5}})");
}

/// The floats behind base64.
std::vector<float> decoded(std::string_view text) {
  std::vector<unsigned char> bytes(text.size());
  ::EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  std::vector<float> floats(text.size() / 4 * 3 / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

TEST_F(Vectors, Base64HasLittleEndianFloats) {
  const json::value whole = parsed_answer(
      "openai_embedding", R"({"input": "a", "encoding_format": "base64", "normalize": false})", {{1, -2.5}});
  EXPECT_EQ(whole.at_pointer("/data/0/embedding").as_string(), "AACAPwAAIMA=");
  EXPECT_THAT(decoded("AACAPwAAIMA="), ElementsAre(1, -2.5));
  EXPECT_THAT(error_of("openai_embedding", R"({"input": "a", "encoding_format": "int8"})").message,
              HasSubstr("encoding_format: found the string \"int8\", expected float or base64"));
}

TEST_F(Vectors, AVectorIsNormalizedUnlessTheBodyOrTheServerSaysOtherwise) {
  const auto vector = [this](const std::string& more) {
    return json::serialize(
        parsed_answer("openai_embedding", R"({"input": "a")" + more + "}", {{4, -4}}).at_pointer("/data/0/embedding"));
  };
  EXPECT_THAT(vector(""), HasSubstr("7.07106"));
  EXPECT_EQ(vector(R"(, "normalize": false)"), "[4,-4]");
  EXPECT_EQ(vector(R"(, "embd_normalize": -1)"), "[4,-4]");
  EXPECT_EQ(vector(R"(, "embd_normalize": 1)"), "[5E-1,-5E-1]");
  EXPECT_EQ(vector(R"(, "embd_normalize": 0)"), "[32760,-32760]");
  model_.policy.norm = -1;
  EXPECT_EQ(vector(""), "[4,-4]");
  EXPECT_THAT(vector(R"(, "normalize": true)"), HasSubstr("7.07106"));
}

TEST_F(Vectors, DimensionsAreThoseOfModelsThatAreTrainedToBeCut) {
  EXPECT_EQ(
      error_of("openai_embedding", R"({"input": "a", "dimensions": 1})").message,
      "dimensions: found 1, expected none, or 2: vectors is not known to be trained so that its vectors can be cut");
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a", "dimensions": 2})").size(), 1);
  words_.set_name("Qwen3 Embedding 0.6B");
  words_.embedding().width = 64;
  EXPECT_EQ(error_of("openai_embedding", R"({"input": "a", "dimensions": 65})").message,
            "dimensions: found 65, expected 32 to 64");
  EXPECT_THAT(error_of("ollama_embed", R"({"input": "a", "dimensions": 31})").message, HasSubstr("expected 32 to 64"));
  std::vector<float> row(64, 1);
  row[0] = 3;
  const json::value whole = parsed_answer("tei_embed", R"({"inputs": "a", "dimensions": 32})", {row});
  ASSERT_EQ(whole.as_array().at(0).as_array().size(), 32);
  EXPECT_NEAR(whole.at_pointer("/0/0").to_number<double>(), 3 / std::sqrt(9 + 31), 1e-6);  // of what is left of it
}

TEST(ShorterVectors, AFamilyIsKnownByItsArchitectureOrItsName) {
  const auto fewest = [](std::string name, std::string architecture, int width = 768) {
    ModelInfo info{};
    info.name = std::move(name);
    info.architecture = std::move(architecture);
    info.embedding.width = width;
    return fewest_dimensions(info);
  };
  EXPECT_EQ(fewest("any", "gemma-embedding"), 128);
  EXPECT_EQ(fewest("Nomic Embed Text v1.5", "nomic-bert"), 64);
  EXPECT_EQ(fewest("Nomic Embed Text v1", "nomic-bert"), std::nullopt);
  EXPECT_EQ(fewest("mxbai_embed_large_v1", "bert"), 64);
  EXPECT_EQ(fewest("Bge Small En v1.5", "bert"), std::nullopt);
  EXPECT_EQ(fewest("Qwen3-Embedding", "qwen3", 16), 16);
}

TEST_F(Vectors, LlamasAnswerIsAnArrayOfRowsOfEachText) {
  EXPECT_EQ(answer("llama_embedding", R"({"content": ["a", "b"]})", {{0, 2}, {1, 0}}),
            R"([{"index":0,"embedding":[[0,1]]},{"index":1,"embedding":[[1,0]]}])");
  EXPECT_EQ(answer("llama_embedding", R"({"input": "a", "embd_normalize": -1})", {{0, 2}}),
            R"([{"index":0,"embedding":[[0,2]]}])");
  EXPECT_EQ(error_of("llama_embedding", "{}").param, "content");
  EXPECT_THAT(error_of("llama_embedding", R"({"content": "a", "input": "b"})").message,
              HasSubstr("input: found texts beside those of content"));
}

TEST_F(Vectors, WithoutPoolingLlamasAnswerHasARowOfEachToken) {
  words_.embedding().pooling = Pooling::kNone;
  EXPECT_EQ(answer("llama_embedding", R"({"content": "ab"})", {{0, 2, 3, 4, 5, 6}}),  // as they are
            R"([{"index":0,"embedding":[[0,2],[3,4],[5,6]]}])");
  EXPECT_EQ(answer("llama_embedding", R"({"content": "a", "embd_normalize": 2})", {{0, 2, 3, 4}}),
            R"([{"index":0,"embedding":[[0,1],[0.6,0.8]]}])");
  for (const char* api : {"openai_embedding", "ollama_embed", "score"}) {
    const ApiError error = error_of(api, std::string(api_named(api).example));
    EXPECT_EQ(error.code, "unsupported_model");
    EXPECT_THAT(error.message, HasSubstr("--pooling none"));
  }
}

TEST_F(Vectors, OllamasAnswersHaveVectorsAndTokens) {
  const json::object whole =
      parsed_answer("ollama_embed", R"({"model": "vectors:latest", "input": ["a", "bc"]})", {{0, 2}, {3, 0}})
          .as_object();
  EXPECT_EQ(json::serialize(whole.at("embeddings")), "[[0,1],[1,0]]");
  EXPECT_EQ(whole.at("model"), "vectors");
  EXPECT_EQ(whole.at("prompt_eval_count"), 5);
  EXPECT_EQ(whole.at("load_duration"), 0);
  EXPECT_GT(whole.at("total_duration").to_number<std::int64_t>(), 0);
  EXPECT_EQ(answer("ollama_embedding", R"({"prompt": "a"})", {{0, 2}}), R"({"embedding":[0,1]})");
}

TEST_F(Vectors, WithoutATextOllamasCallsOnlyLoadTheModel) {
  for (const char* body : {"{}", R"({"input": ""})", R"({"input": []})"})
    EXPECT_EQ(parsed_answer("ollama_embed", body, {}).at("embeddings"), json::array());
  EXPECT_EQ(answer("ollama_embedding", R"({"keep_alive": "5m"})", {}), R"({"embedding":[]})");
  EXPECT_EQ(parse("ollama_embed", R"({"keep_alive": "5m"})")->keep_alive, std::chrono::minutes(5));
}

TEST_F(Vectors, TeisAnswerIsAnArrayOfVectors) {
  EXPECT_EQ(answer("tei_embed", R"({"inputs": ["a", "b"], "normalize": false})", {{0, 2}, {3, 0}}), "[[0,2],[3,0]]");
  EXPECT_THAT(error_of("tei_embed", R"({"inputs": "a", "truncate": true, "truncation_direction": "Left"})").message,
              HasSubstr("truncation_direction: found Left, expected Right"));
  EXPECT_EQ(prompts("tei_embed", R"({"inputs": "a", "truncation_direction": "Left"})").size(), 1);  // nothing is cut
  EXPECT_EQ(api_named("tei_embed").error_body({.status = 400, .message = "no"}),
            R"({"error":"no","error_type":"Validation"})");
}

TEST_F(Vectors, AllRowsOfTeisAreGivenWhateverThePooling) {
  const auto call = parse("tei_embed_all", R"({"inputs": "ab"})");
  EXPECT_EQ(call->requests.at(0).embedding.pooling, Pooling::kNone);
  EXPECT_EQ(answer("tei_embed_all", R"({"inputs": ["ab", "c"]})", {{0, 2, 3, 4, 5, 6}, {1, 2, 3, 4}}),
            "[[[0,2],[3,4],[5,6]],[[1,2],[3,4]]]");
}

TEST_F(Vectors, TeisSimilaritiesAreCosinesWithTheFirst) {
  const char* body =
      R"({"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}, "parameters": {"truncate": true}})";
  EXPECT_EQ(answer("tei_similarity", body, {{0, 2}, {0, 7}, {3, 0}}), "[1,0]");
  EXPECT_EQ(error_of("tei_similarity", R"({"inputs": {"source_sentence": "a"}})").param, "inputs.sentences");
  EXPECT_EQ(error_of("tei_similarity", R"({"inputs": {"sentences": ["a"]}})").param, "inputs.source_sentence");
}

TEST_F(Vectors, TeisInfoTellsWhatTheModelMakes) {
  const auto type = [this](const RequestPolicy& policy) {
    return json::serialize(tei_info("vectors", words_.info(), policy).at("model_type"));
  };
  EXPECT_EQ(type({}), R"({"embedding":{"pooling":"mean"}})");
  EXPECT_EQ(tei_info("vectors", words_.info(), {}).at("max_input_length"), 100);
  words_.embedding() = {.pooling = Pooling::kRank, .labels = {"yes", ""}};
  EXPECT_EQ(type({}), R"({"reranker":{"id2label":{"0":"yes","1":"LABEL_1"},"label2id":{"yes":0,"LABEL_1":1}}})");
  words_.embedding() = {.pooling = Pooling::kLast, .width = 2};
  EXPECT_EQ(type({}), "null") << "it writes text, and makes vectors where the server is told to";
  EXPECT_EQ(type({.embeds = true}), R"({"embedding":{"pooling":"last"}})");
}

TEST_F(Vectors, CoheresAnswerHasAListOfEachKind) {
  const std::string both = R"({"texts": ["a", "bc"], "embedding_types": ["float", "ubinary", "binary", "base64"]})";
  const json::value whole = parsed_answer("cohere_embed", both, {{3, 4}, {-2, 0}});
  EXPECT_EQ(json::serialize(whole.at("texts")), R"(["a","bc"])");
  EXPECT_EQ(json::serialize(whole.at_pointer("/embeddings/float")), "[[6E-1,8E-1],[-1,0]]");
  EXPECT_EQ(json::serialize(whole.at_pointer("/embeddings/ubinary")), "[[192],[0]]");
  EXPECT_EQ(json::serialize(whole.at_pointer("/embeddings/binary")), "[[64],[-128]]");
  EXPECT_THAT(decoded(whole.at_pointer("/embeddings/base64/1").as_string()).front(), -1);
  EXPECT_EQ(whole.at("response_type"), "embeddings_by_type");
  EXPECT_EQ(whole.at_pointer("/meta/billed_units/input_tokens"), 5);
  const json::value first = parsed_answer("cohere_embed_v1", R"({"texts": ["a"]})", {{3, 4}});
  EXPECT_EQ(json::serialize(first.at("embeddings")), "[[6E-1,8E-1]]");
  EXPECT_EQ(first.at("response_type"), "embeddings_floats");
  EXPECT_EQ(json::serialize(parsed_answer("cohere_embed", R"({"texts": ["a"]})", {{3, 4}}).at("embeddings")),
            R"({"float":[[6E-1,8E-1]]})");
  EXPECT_EQ(api_named("cohere_embed").error_body({.status = 400, .message = "no"}), R"({"message":"no"})");
}

TEST_F(Vectors, CoheresBitsAreTheHighestOfTheirByteFirst) {
  words_.embedding().width = 10;
  const json::value whole = parsed_answer("cohere_embed", R"({"texts": ["a"], "embedding_types": ["ubinary"]})",
                                          {{1, -1, -1, -1, -1, -1, -1, 1, 0, 1}});
  EXPECT_EQ(json::serialize(whole.at_pointer("/embeddings/ubinary")), "[[129,64]]");
}

TEST_F(Vectors, CoheresTextsMayBeContentsAndLoseTheirEndUnlessTheBodySaysOtherwise) {
  EXPECT_THAT(prompts("cohere_embed", R"({"inputs": [{"content": [{"type": "text", "text": "ab"}]}]})"),
              ElementsAre("ab<end>"));
  EXPECT_THAT(error_of("cohere_embed", R"({"inputs": [{"content": [{"type": "image_url"}]}]})").message,
              HasSubstr("inputs[0].content[0].type: found the string \"image_url\", expected text"));
  EXPECT_EQ(error_of("cohere_embed", "{}").param, "texts");
  EXPECT_THAT(error_of("cohere_embed", R"({"texts": ["a"], "embedding_types": ["int8"]})").message,
              HasSubstr("embedding_types[0]: found the string \"int8\", expected float, base64, binary, ubinary"));
  const std::string text(100, 'a');
  const auto body = [&](const std::string& more) { return R"({"texts": [")" + text + "\"]" + more + "}"; };
  EXPECT_THAT(prompts("cohere_embed", body("")), ElementsAre(std::string(99, 'a') + "<end>"));
  EXPECT_THAT(prompts("cohere_embed", body(R"(, "max_tokens": 5)")), ElementsAre("aaaa<end>"));
  EXPECT_EQ(error_of("cohere_embed", body(R"(, "truncate": "NONE")")).code, "context_length_exceeded");
  EXPECT_THAT(error_of("cohere_embed", body(R"(, "truncate": "START")")).message,
              HasSubstr("found START, expected END"));
  EXPECT_THAT(error_of("cohere_embed", body(R"(, "output_dimension": 1)")).message,
              HasSubstr("output_dimension: found 1, expected none, or 2"));
}

TEST_F(Vectors, WordsInFrontOfATextAreChosenByTheirName) {
  words_.embedding().prompts = {{.name = "query", .text = "q: "}, {.name = "passage", .text = "p: "}};
  const auto prompt = [this](std::string_view api, const std::string& body) { return prompts(api, body).at(0); };
  EXPECT_EQ(prompt("openai_embedding", R"({"input": "a"})"), "a<end>");
  EXPECT_EQ(prompt("openai_embedding", R"({"input": "a", "prompt_name": "query"})"), "q: a<end>");
  EXPECT_EQ(prompt("openai_embedding", R"({"input": "a", "input_type": "document"})"), "p: a<end>");
  EXPECT_EQ(prompt("tei_embed", R"({"inputs": "a", "prompt_name": "passage"})"), "p: a<end>");
  EXPECT_EQ(prompt("cohere_embed", R"({"texts": ["a"], "input_type": "search_query"})"), "q: a<end>");
  EXPECT_EQ(prompt("cohere_embed", R"({"texts": ["a"], "input_type": "clustering"})"), "a<end>");
  words_.embedding().default_prompt = "passage";
  for (const char* api : {"openai_embedding", "llama_embedding", "ollama_embed", "score"})
    EXPECT_THAT(prompt(api, R"({"input": "a", "text_1": "a", "text_2": "b"})"), "p: a<end>") << api;
  EXPECT_EQ(prompt("openai_embedding", R"({"input": "a", "prompt_name": ""})"), "a<end>");
  EXPECT_EQ(prompt("openai_embedding", R"({"input": [97]})"), "a") << "ids are taken as they are";
}

TEST_F(Vectors, FieldsThatContradictEachOtherAreRefused) {
  words_.embedding().prompts = {{"query", "query: "}};
  const auto message = [this](const std::string& more) {
    return error_of("openai_embedding", R"({"input": "a", )" + more + "}").message;
  };
  EXPECT_EQ(message(R"("normalize": true, "embd_normalize": -1)"),
            "embd_normalize: found -1 beside a normalize that means 2, expected one of them");
  EXPECT_THAT(message(R"("input_type": "query", "prompt_name": "query")"),
              HasSubstr("prompt_name: found a name beside input_type, expected one of them"));
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a", "normalize": false, "embd_normalize": -1})").size(), 1);
}

TEST_F(Vectors, TruncateCutsOnOpenAisAndLlamasRoutes) {
  const std::string text(120, 'a'), cut = std::string(99, 'a') + "<end>";
  EXPECT_EQ(prompts("openai_embedding", R"({"truncate": true, "input": ")" + text + "\"}").at(0), cut);
  EXPECT_EQ(prompts("llama_embedding", R"({"truncate": true, "content": ")" + text + "\"}").at(0), cut);
  EXPECT_EQ(error_of("openai_embedding", R"({"truncate": false, "input": ")" + text + "\"}").code,
            "context_length_exceeded");
}

TEST_F(Vectors, AnUnknownNameOfWordsIsRefusedWithThoseThatThereAre) {
  const std::string body = R"({"inputs": "a", "prompt_name": "question"})";
  EXPECT_EQ(error_of("tei_embed", body).message,
            "prompt_name: found 'question', expected none: the model has no prompts with names");
  words_.embedding().prompts = {{.name = "query", .text = "q: "}, {.name = "passage", .text = "p: "}};
  EXPECT_EQ(error_of("tei_embed", body).message, "prompt_name: found 'question', expected one of query, passage");
  EXPECT_EQ(error_of("openai_embedding", R"({"input": [[97]], "prompt_name": "query"})").message,
            "input[0]: found token ids, expected a text: prompt_name asks for words in front of it");
  EXPECT_THAT(error_of("cohere_embed", R"({"texts": ["a"], "input_type": "image"})").message,
              HasSubstr("input_type: found the string \"image\", expected one of search_query"));
}

TEST_F(Vectors, RowsOfALongTextAreWrittenInPiecesAndAreTheSameAnswer) {
  constexpr int kWidth = 4096, kTokens = 10;
  words_.embedding() = {.generates = false, .pooling = Pooling::kNone, .width = kWidth};
  const std::string text(kTokens - 1, 'a');  // and the end
  const std::string body = R"({"content": [")" + text + R"(", ")" + text + "\"]}";
  std::vector<float> rows(kWidth * kTokens);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const auto call = parse("llama_embedding", body);
  ASSERT_TRUE(call) << call.error().message;
  const auto writer =
      api_named("llama_embedding")
          .make_writer({.call = *call, .words = test::not_owned(words_), .model = model_, .id = "0", .created = 7});
  writer->leave_work();
  for (std::size_t i = 0; i < 2; ++i) {
    call->requests.at(i).embedding.on_rows(0, kTokens, rows);
    RequestEvent event;
    event.prompt_index = i;
    event.finish = FinishReason::kLength;
    writer->on_event(event);
  }
  EXPECT_EQ(writer->work_left(), 2 * rows.size());
  EXPECT_EQ(writer->held_bytes(), 0) << "nothing is written yet";
  int num_pieces = 0;
  for (; writer->work_left() > 0; ++num_pieces) {
    EXPECT_FALSE(writer->done());
    const std::size_t before = writer->work_left();
    writer->work();
    EXPECT_LE(before - writer->work_left(), kNumbersOfPiece);
  }
  EXPECT_EQ(num_pieces, 5) << "of four rows each";
  ASSERT_TRUE(writer->done());
  const std::string expected = answer("llama_embedding", body, {rows, rows});
  EXPECT_EQ(writer->finish(), expected);
}

TEST_F(Vectors, NumbersThatAreNotFiniteInALaterPieceAreAnError) {
  words_.embedding() = {.generates = false, .pooling = Pooling::kNone, .width = 4096};
  std::vector<float> rows(4096 * 10);
  rows[4096 * 7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(answer("llama_embedding", R"({"content": "aaaaaaaaa"})", {rows}),
            "The model's numbers for text 0 of content are not finite.");
}

TEST_F(Vectors, TextsMayHaveSoManyPairsOfTokensInARequest) {
  words_.set_context(100'000);
  const auto ids = [](std::size_t count, std::size_t length) {
    return json::serialize(json::object{{"input", json::array(count, json::array(length, 97))}});
  };
  EXPECT_EQ(parse("openai_embedding", ids(2048, 512))->vectors->num_pairs, std::int64_t{1} << 29);
  EXPECT_TRUE(parse("openai_embedding", ids(16, 8192))) << "as many as may be";
  EXPECT_EQ(
      error_of("openai_embedding", ids(17, 8192)).message,
      "input[16]: found 1140850688 pairs of tokens up to this text, each text's tokens times themselves, expected "
      "at most 1073741824 in a request of several texts");
  EXPECT_TRUE(parse("openai_embedding", ids(1, 40'000))) << "one alone may be as long as the context";
}

TEST_F(Vectors, NumbersThatAreNotFiniteAreAnErrorThatNamesTheText) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(answer("openai_embedding", R"({"input": ["a", "b"]})", {{0, 2}, {1, nan}}),
            "The model's numbers for text 1 of input are not finite.");
  EXPECT_THAT(answer("openai_embedding", R"({"input": "a"})", {{0}}), HasSubstr("no memory"));  // too few
}

TEST_F(Vectors, AnAnswerBeyondTheServersBoundIsRefusedBeforeWorkBegins) {
  model_.policy.max_answer_bytes = 1000;
  words_.embedding().width = 64;
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a"})").size(), 1);
  const ApiError error = error_of("openai_embedding", R"({"input": ["a", "b"]})");
  EXPECT_EQ(error.code, "answer_too_large");
  EXPECT_THAT(error.message, HasSubstr("at most 1000 of one: send fewer texts in a call, or ask for an encoding_format "
                                       "of base64"));
  EXPECT_EQ(prompts("openai_embedding", R"({"input": ["a", "b"], "encoding_format": "base64"})").size(), 2);
  EXPECT_THAT(error_of("tei_embed", R"({"inputs": ["a", "b"]})").message, ::testing::EndsWith("fewer texts in a call"));
}

TEST_F(Vectors, AModelThatWritesMakesVectorsOnlyWhereTheServerIsToldTo) {
  words_.embedding().generates = true;
  for (const Api& api : all_apis()) {
    if (!api.stream_type.empty() || api.name == "rerank") continue;
    const ApiError error = error_of(api.name, std::string(api.example));
    EXPECT_EQ(error.status, 400) << api.name;
    EXPECT_EQ(error.code, "unsupported_model") << api.name;
    EXPECT_THAT(error.message, HasSubstr("--embedding")) << api.name;
  }
  model_.policy.embeds = true;
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a"})").size(), 1);
}

TEST_F(Vectors, AModelThatWritesMakesVectorsUnaskedWhereItsFileNamesAPooling) {
  words_.embedding().generates = true;
  words_.embedding().names_pooling = true;
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a"})").size(), 1);
  EXPECT_TRUE(parse("openai_completion", R"({"prompt": "a"})").has_value());
}

TEST_F(Vectors, AnEncoderWritesNothingAndSaysSo) {
  for (const Api& api : all_apis()) {
    if (api.stream_type.empty()) continue;
    const ApiError error = error_of(api.name, std::string(api.example));
    EXPECT_EQ(error.status, 400) << api.name;
    EXPECT_EQ(error.code, "unsupported_model") << api.name;
    EXPECT_THAT(error.message, HasSubstr("vectors is an encoder, which writes no text: /v1/embeddings")) << api.name;
  }
  EXPECT_TRUE(parse("ollama_generate", "{}").has_value());  // only loads it
}

class Ranks : public Vectors {
 protected:
  Ranks() { words_.embedding() = {.generates = false, .pooling = Pooling::kRank, .width = 1, .labels = {""}}; }
};

TEST_F(Ranks, EachDocumentIsReadBehindTheQuery) {
  const std::string body = R"({"query": "q", "documents": ["ab", {"text": "c"}]})";
  EXPECT_THAT(prompts("rerank", body), ElementsAre("q|ab<end>", "q|c<end>"));
  const auto call = parse("rerank", body);
  EXPECT_EQ(call->requests.at(0).embedding.pooling, Pooling::kRank);
  EXPECT_THAT(call->requests.at(0).token_types, ElementsAre(0, 0, 1, 1, 1));
}

TEST_F(Ranks, TheBestComesFirstWithTheSigmoidOfItsLogit) {
  const json::value whole =
      parsed_answer("rerank", R"({"query": "q", "documents": ["a", "b", "c"]})", {{-1}, {2}, {0}});
  EXPECT_EQ(json::serialize(whole.at_pointer("/results/0/index")), "1");
  EXPECT_NEAR(whole.at_pointer("/results/0/relevance_score").as_double(), 1 / (1 + std::exp(-2)), 1e-12);
  EXPECT_EQ(whole.at_pointer("/results/1/relevance_score"), 0.5);
  EXPECT_EQ(whole.at_pointer("/results/2/index"), 0);
  EXPECT_FALSE(whole.at_pointer("/results/0").as_object().contains("document"));
  EXPECT_EQ(whole.at("id"), "rerank-0123");
  EXPECT_EQ(whole.at("model"), "vectors");
  EXPECT_EQ(whole.at_pointer("/usage/total_tokens"), 12);
  EXPECT_EQ(whole.at_pointer("/meta/tokens/input_tokens"), 12);
}

TEST_F(Ranks, FieldsOfJinaAndCohereChooseWhatIsTold) {
  EXPECT_EQ(
      json::serialize(parsed_answer("rerank", R"({"query": "q", "documents": ["a", {"text": "b"}, "c"], "top_n": 2,
                                                       "return_documents": true, "raw_scores": true})",
                                    {{-1}, {2}, {0}})
                          .at("results")),
      R"([{"index":1,"relevance_score":2,"document":{"text":"b"}},{"index":2,"relevance_score":0,"document":)"
      R"({"text":"c"}}])");
  EXPECT_EQ(parsed_answer("rerank", R"({"query": "q", "documents": ["a"], "use_activation": false, "top_n": 9})", {{3}})
                .at_pointer("/results/0/relevance_score"),
            3);
}

TEST_F(Ranks, TextsAskForTeisAnswer) {
  EXPECT_EQ(
      answer("rerank", R"({"query": "q", "texts": ["a", "b"], "raw_scores": true, "return_text": true})", {{1}, {2}}),
      R"([{"index":1,"score":2,"text":"b"},{"index":0,"score":1,"text":"a"}])");
  EXPECT_EQ(answer("rerank", R"({"query": "q", "texts": ["a"]})", {{0}}), R"([{"index":0,"score":0.5}])");
}

TEST_F(Ranks, OfTwoLabelsTheFirstSaysYes) {
  words_.embedding().labels = {"yes", "no"};
  const std::string body = R"({"query": "q", "documents": ["a"])";
  EXPECT_NEAR(parsed_answer("rerank", body + "}", {{2, 1}}).at_pointer("/results/0/relevance_score").as_double(),
              std::exp(2) / (std::exp(2) + std::exp(1)), 1e-12);
  EXPECT_EQ(
      parsed_answer("rerank", body + R"(, "raw_scores": true})", {{2, 0.5}}).at_pointer("/results/0/relevance_score"),
      1.5);
  words_.embedding().labels = {"contradiction", "entailment", "neutral"};
  EXPECT_THAT(error_of("rerank", body + "}").message,
              HasSubstr("the head of vectors has 3 labels, expected one or two"));
}

TEST_F(Ranks, WrongQueriesAndDocumentsAreNamedByTheirPlace) {
  const auto message = [this](const std::string& body) { return error_of("rerank", body).message; };
  EXPECT_THAT(message(R"({"documents": ["a"]})"), HasSubstr("query: found none, expected a string"));
  EXPECT_THAT(message(R"({"query": "", "documents": ["a"]})"), HasSubstr("query: found an empty text"));
  EXPECT_THAT(message(R"({"query": {"image": "x"}, "documents": ["a"]})"), HasSubstr("query: found an object"));
  EXPECT_THAT(message(R"({"query": "q"})"), HasSubstr("documents: found none, expected an array of texts"));
  EXPECT_THAT(message(R"({"query": "q", "documents": []})"), HasSubstr("documents: found an empty array"));
  EXPECT_THAT(message(R"({"query": "q", "documents": [{"image": "x"}]})"), HasSubstr("documents[0].text: found none"));
  EXPECT_THAT(message(R"({"query": "q", "documents": [5]})"),
              HasSubstr("documents[0]: found the number 5, expected a string, or an object with a text"));
  EXPECT_THAT(message(R"({"query": "q", "documents": ["a"], "texts": ["b"]})"), HasSubstr("texts: found texts beside"));
  const std::string many = json::serialize(json::array(kMaxTexts + 1, "a"));
  EXPECT_EQ(message(R"({"query": "q", "documents": )" + many + "}"),
            "documents: found 2049 texts, expected at most 2048");
}

TEST_F(Ranks, AnEmptyDocumentHasAScoreAsAnyOther) {
  const std::string documents = R"(["a", "", {"text": ""}]})";
  EXPECT_THAT(prompts("rerank", R"({"query": "q", "documents": )" + documents),
              ElementsAre("q|a<end>", "q|<end>", "q|<end>"));
  EXPECT_THAT(prompts("rerank", R"({"query": "q", "texts": [""]})"), ElementsAre("q|<end>"));
  EXPECT_THAT(prompts("score", R"({"text_1": "q", "text_2": ["", "b"]})"), ElementsAre("q|<end>", "q|b<end>"));
  const json::value answered =
      parsed_answer("rerank", R"({"query": "q", "documents": ["a", ""], "raw_scores": true})", {{0.5}, {0.25}});
  EXPECT_EQ(answered.at_pointer("/results/1/index"), 1);
  EXPECT_EQ(answered.at_pointer("/results/1/relevance_score"), 0.25);
}

TEST_F(Ranks, ALongDocumentIsRefusedOrLosesItsEnd) {
  const std::string text(120, 'a');
  const auto body = [&](const std::string& more) {
    return R"({"query": "q", "documents": [")" + text + "\"]" + more + "}";
  };
  EXPECT_EQ(error_of("rerank", body("")).param, "documents[0]");
  EXPECT_EQ(error_of("rerank", body("")).code, "context_length_exceeded");
  const auto prompt = [&](const std::string& more) { return prompts("rerank", body(more)).at(0); };
  EXPECT_EQ(prompt(R"(, "truncate": true)"), "q|" + std::string(97, 'a') + "<end>");
  EXPECT_EQ(prompt(R"(, "truncate_prompt_tokens": 6)"), "q|aaa<end>");
  EXPECT_EQ(prompt(R"(, "max_tokens_per_doc": 4)"), "q|aaaa<end>");  // whatever the query takes
}

TEST_F(Ranks, ALongQueryIsNamedAndNotTheDocumentThatHasNoRoomBesideIt) {
  const std::string text(120, 'a'), half(60, 'b');
  const ApiError query = error_of("rerank", R"({"query": ")" + text + R"(", "documents": ["d"]})");
  EXPECT_EQ(query.param, "query");
  EXPECT_THAT(query.message, HasSubstr("your query resulted in 122 tokens"));
  EXPECT_EQ(error_of("rerank", R"({"query": ")" + text + R"(", "documents": ["d"], "max_tokens_per_doc": 4})").param,
            "query");
  const ApiError first = error_of("score", R"({"text_1": ["q", ")" + text + R"("], "text_2": ["a", "b"]})");
  EXPECT_EQ(first.param, "text_1[1]");
  const ApiError document = error_of("rerank", R"({"query": ")" + half + R"(", "documents": [")" + half + R"("]})");
  EXPECT_EQ(document.param, "documents[0]");
  EXPECT_THAT(document.message, HasSubstr("your documents[0] resulted in 122 tokens, 62 of them of query"));
}

TEST_F(Ranks, OfFieldsThatContradictEachOtherTheSecondIsRefused) {
  const std::string body = R"({"query": "q", "documents": ["a"], )";
  EXPECT_THAT(error_of("rerank", body + R"("raw_scores": true, "use_activation": true})").message,
              HasSubstr("use_activation: found true beside raw_scores of the same"));
  EXPECT_EQ(prompts("rerank", body + R"("raw_scores": true, "use_activation": false})").size(), 1);
  EXPECT_EQ(error_of("rerank", R"({"documents": ["a"]})").code, "missing_required_parameter");
  EXPECT_EQ(error_of("score", R"({"text_2": "a"})").code, "missing_required_parameter");
}

TEST_F(Ranks, ScoresTakeEachOfVllmsNames) {
  for (const auto& [first, second] :
       {std::pair("queries", "documents"), std::pair("queries", "items"), std::pair("data_1", "data_2")}) {
    const auto body = [&](const std::string& queries) {
      return fmt::format(R"({{"{}": {}, "{}": ["a", "b"]}})", first, queries, second);
    };
    EXPECT_THAT(prompts("score", body(R"("q")")), ElementsAre("q|a<end>", "q|b<end>")) << first;
    EXPECT_EQ(error_of("score", body(R"(["o", "p", "q"])")).message,
              fmt::format("{}: found 3 texts, expected one, or as many as {} has: 2", first, second));
  }
  EXPECT_THAT(error_of("score", R"({"text_1": "q", "queries": "p", "text_2": "a"})").message,
              HasSubstr("queries: found texts beside those of text_1, expected one of them"));
  EXPECT_THAT(error_of("score", R"({"queries": "q"})").message, HasSubstr("text_2: found none"));
}

TEST_F(Ranks, AModelWithoutARankingHeadRanksNothing) {
  words_.embedding() = {.generates = false, .pooling = Pooling::kMean, .width = 2};
  const ApiError error = error_of("rerank", R"({"query": "q", "documents": ["a"]})");
  EXPECT_EQ(error.status, 400);
  EXPECT_THAT(error.message, HasSubstr("model: vectors has no ranking head"));
}

TEST_F(Ranks, AModelThatRanksHasNoVectors) {
  EXPECT_THAT(error_of("openai_embedding", R"({"input": "a"})").message, HasSubstr("ranks documents (/v1/rerank)"));
  EXPECT_THAT(error_of("openai_chat", R"({"messages": [{"role": "user", "content": "a"}]})").message,
              HasSubstr("/v1/rerank ranks documents with it"));
  words_.embedding().pooling = Pooling::kMean;  // --pooling mean
  EXPECT_EQ(prompts("openai_embedding", R"({"input": "a"})").size(), 1);
}

TEST_F(Ranks, ScoresArePairsOfOneWithEachOrOfAsMany) {
  EXPECT_THAT(prompts("score", R"({"text_1": "q", "text_2": "a"})"), ElementsAre("q|a<end>"));
  EXPECT_THAT(prompts("score", R"({"text_1": "q", "text_2": ["a", "b"]})"), ElementsAre("q|a<end>", "q|b<end>"));
  EXPECT_THAT(prompts("score", R"({"text_1": ["p", "q"], "text_2": ["a", "b"]})"), ElementsAre("p|a<end>", "q|b<end>"));
  EXPECT_EQ(error_of("score", R"({"text_1": ["p", "q"], "text_2": ["a", "b", "c"]})").message,
            "text_1: found 2 texts, expected one, or as many as text_2 has: 3");
  EXPECT_EQ(error_of("score", R"({"text_1": ["q", ""], "text_2": ["a", "b"]})").param, "text_1[1]");
  const json::value whole = parsed_answer("score", R"({"text_1": "q", "text_2": ["a", "b"]})", {{0}, {2}});
  EXPECT_EQ(json::serialize(whole.at_pointer("/data/0")), R"({"index":0,"object":"score","score":5E-1})");
  EXPECT_NEAR(whole.at_pointer("/data/1/score").as_double(), 1 / (1 + std::exp(-2)), 1e-12);
  EXPECT_EQ(whole.at("created"), 7);
  EXPECT_EQ(whole.at_pointer("/usage/prompt_tokens"), 8);
}

TEST_F(Vectors, ScoresOfAModelWithoutAHeadAreCosines) {
  const auto scores = [this](const std::string& body, const Rows& rows) { return parsed_answer("score", body, rows); };
  EXPECT_THAT(prompts("score", R"({"text_1": "q", "text_2": ["a", "b"]})"), ElementsAre("q<end>", "a<end>", "b<end>"));
  const json::value one = scores(R"({"text_1": "q", "text_2": ["a", "b"]})", {{2, 0}, {3, 4}, {-5, 0}});
  EXPECT_DOUBLE_EQ(one.at_pointer("/data/0/score").as_double(), 0.6);
  EXPECT_DOUBLE_EQ(one.at_pointer("/data/1/score").to_number<double>(), -1);
  const json::value pairs = scores(R"({"text_1": ["p", "q"], "text_2": ["a", "b"]})", {{1, 0}, {0, 1}, {3, 4}, {3, 4}});
  EXPECT_DOUBLE_EQ(pairs.at_pointer("/data/0/score").as_double(), 0.6);
  EXPECT_DOUBLE_EQ(pairs.at_pointer("/data/1/score").as_double(), 0.8);
}

TEST(Relevance, EqualScoresKeepTheirOrder) {
  EXPECT_THAT(best_first(std::vector<double>{1, 3, 1, 2}), ElementsAre(1, 3, 0, 2));
  EXPECT_EQ(cosine(std::vector<float>{0, 0}, std::vector<float>{1, 0}), 0);
}

}  // namespace
}  // namespace octavo
