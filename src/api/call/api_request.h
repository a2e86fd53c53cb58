// A request for answers as a client made it, by whichever API, in no API's words: each API's fields fill one
// (api_field.h), and prepare() makes the engine's requests of it (prepare.h).
//
// A value; it refers to the body that it was read from, which outlives it.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/call/answer_form.h"
#include "api/call/answer_length.h"
#include "api/call/custom_tools.h"
#include "api/call/resumption.h"
#include "api/call/vector_call.h"
#include "api/call/warnings.h"
#include "octavo/chat.h"
#include "octavo/model_text.h"
#include "octavo/request.h"

namespace octavo {

/// The form that an answer must have, and the field that asks for it, as the client wrote it.
struct AskedConstraint {
  std::string field;
  ConstraintSource source;
  bool is_of_content = false;  // it may stand beside calls of tools: a schema, or any object
};

/// The parts that a chat's prompt is made of. The tools in its options are those of ApiRequest::tools, see
/// conversation_of().
struct Conversation {
  std::vector<ChatMessage> messages = {};
  ChatTemplateOptions options = {};
};

/// A text with pictures in it.
struct PictureText {
  std::vector<ContentPart> parts = {};
};

/// A text to go on with, its tokens, or one with pictures.
using TextPrompt = std::variant<std::string_view, std::vector<TokenId>, PictureText>;
/// Texts of a completion, each of which gets its answers.
struct TextPrompts {
  std::vector<TextPrompt> prompts = {};
  bool are_listed = false;  // the client's field is an array of them, which may be one
  bool add_special = true;  // BOS in front of texts
};

/// The text in a gap is asked for.
struct Gap {
  InfillText text = {};
  std::string_view field = "suffix";  // that asks for it
};

/// Nothing is to be computed: the model is to be there, or to be unloaded.
struct NoPrompt {};

/// A function that the answer may call. Tools of other kinds are such functions as well (custom_tools.h).
struct AskedTool {
  std::string name = {};
  TemplateValue described = {};  // in the form that chat templates read: {"type": "function", "function": {...}}
  std::shared_ptr<const boost::json::object> parameters = {};  // the schema; null: none
  std::string origin = {};                                     // where the schema stands in the body, for errors
  bool is_strict = false;
};

/// Whether an answer may call tools, and whether it must.
struct ToolChoice {
  enum class Mode : std::uint8_t { kNone, kAuto, kRequired };
  Mode mode = Mode::kNone;
  std::string only = {};  // the tool that must be called; empty: any
};

struct AskedTools {
  std::vector<AskedTool> tools = {};
  bool are_given = false;  // perhaps none at all, but templates can tell
  ToolChoice choice = {};
  bool is_single = false;                         // an answer has one call at most
  bool are_functions = false;                     // the client knows them in OpenAI's first form
  ClientTools client_tools = {};                  // those that the client knows in another form
  std::set<std::string, std::less<>> named = {};  // those that results have named, where such tools wait for it
  std::string_view field = "tools";               // the client's names of the fields
  std::string_view choice_field = "tool_choice";
};

/// Whether the answer is to think, and how hard, as one of the client's fields says it (reasoning_fields.h). The
/// conversation's names say it to the template.
struct AskedThinking {
  std::optional<bool> is_on = {};
  bool is_implied = false;  // by a level: any other field may say the opposite
  std::string field = {};   // that says so
  std::string effort = {};  // the level; empty: none is given
  std::string effort_field = {};
};

/// How many tokens of reasoning there may be.
struct AskedBudget {
  std::optional<int> tokens = {};  // -1: any number
  std::string_view field = {};
};

/// Texts whose vectors are asked for, or that are compared with others.
struct AskedVectors {
  static constexpr int kToTheContext = -1;

  struct Texts {
    std::vector<TextPrompt> texts = {};
    std::string_view field = {};
    bool are_listed = false;  // the client's field is an array of them, which may be one
  };
  /// The most tokens of a prompt, beyond which it is cut; kToTheContext: those that there is room for.
  struct MaxTokens {
    int tokens = kToTheContext;
    std::string_view field = {};
  };

  VectorTask task = VectorTask::kVectors;  // kComparisons is made of kScores where the model has no ranking head
  Texts texts = {};
  Texts queries = {};  // that the texts are compared with: one, or one for each
  std::optional<MaxTokens> max_tokens = {};
  int max_document_tokens = 0;  // of a ranked document, beyond which it is cut; 0: the context's end alone counts
  bool cuts = false;            // a text that has no room loses its end
  bool add_special = true;      // EmbeddingPromptOptions's, of texts
  std::optional<std::string> prompt_name = {};  // EmbeddingPromptOptions's, of texts
  std::string_view prompt_field = {};           // that says it, or from which it would follow
  std::string_view dimensions_field = "dimensions";
  bool pools_nothing = false;         // rows of tokens are asked for, whatever the model's pooling
  bool takes_rows_of_tokens = false;  // the API has a form for them
  bool takes_base64 = false;          // and for base64
  VectorForm form = {};
};

struct ApiRequest {
  /// All that the engine is asked for but the prompt and the number of tokens.
  Request settings = {};
  std::variant<NoPrompt, Conversation, TextPrompts, Gap, AskedVectors> prompt = NoPrompt();
  std::string_view prompt_field = "prompt";
  AnswerLength length = {};
  bool is_seeded = false;                      // else each prompt draws from a seed of its own
  std::optional<Resumption> resumption = {};   // of an answer that broke off
  std::optional<std::string> prediction = {};  // a text that the answer is expected to be near to
  std::vector<std::string> bad_words = {};     // texts that are not to be drawn
  std::optional<AskedConstraint> constraint = {};
  bool closes_objects = true;  // ConstraintSource's
  AskedTools tools = {};
  AskedThinking thinking = {};
  AskedBudget reasoning_budget = {};
  AnswerForm form = {};
  std::string cache_salt = {};
  std::optional<std::chrono::milliseconds> keep_alive = {};  // how long the model stays after this
  Warnings warnings = {};                                    // what the client should be told

  /// The prompt of a call for vectors or scores.
  AskedVectors& vectors() { return std::get<AskedVectors>(prompt); }
};

/// The conversation of a request that has one, with its tools. It is taken out of the request.
Conversation conversation_of(ApiRequest& request);

}  // namespace octavo
