// A request for answers as a client made it, in terms that belong to no API: each API's fields fill an ApiRequest
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
  bool is_of_content = false;  // it may stand beside calls of tools: a schema, or any JSON object
};

/// The parts that a chat's prompt is made of. conversation_of() puts the tools of ApiRequest::tools into its options.
struct Conversation {
  std::vector<ChatMessage> messages = {};
  ChatTemplateOptions options = {};
};

/// A text with pictures in it.
struct PictureText {
  std::vector<ContentPart> parts = {};
};

/// A prompt to continue: a text, its tokens, or a text with pictures.
using TextPrompt = std::variant<std::string_view, std::vector<TokenId>, PictureText>;
/// The prompts of a completion, each of which gets its own answers.
struct TextPrompts {
  std::vector<TextPrompt> prompts = {};
  bool are_listed = false;  // the client's field is an array of prompts, perhaps of one
  bool add_special = true;  // BOS in front of texts
};

/// A text with a gap: the text of the gap is asked for.
struct Gap {
  InfillText text = {};
  std::string_view field = "suffix";  // the field that asks for it
};

/// A request that computes nothing: the model is to be loaded, or to be unloaded.
struct NoPrompt {};

/// A function that the answer may call. Tools of other kinds are such functions as well (custom_tools.h).
struct AskedTool {
  std::string name = {};
  TemplateValue described = {};  // the form that chat templates read: {"type": "function", "function": {...}}
  std::shared_ptr<const boost::json::object> parameters = {};  // the schema; null: none
  std::string origin = {};                                     // where the schema stands in the body, for errors
  bool is_strict = false;
};

/// Whether an answer may call tools, and whether it must.
struct ToolChoice {
  enum class Mode : std::uint8_t { kNone, kAuto, kRequired };
  Mode mode = Mode::kNone;
  std::string only = {};  // the name of the one tool that must be called; empty: any
};

struct AskedTools {
  std::vector<AskedTool> tools = {};
  bool are_given = false;  // the client sent a list of tools, even an empty one: templates can tell
  ToolChoice choice = {};
  bool is_single = false;                         // an answer has one call at most
  bool are_functions = false;                     // the client knows them as `functions`, OpenAI's older form
  ClientTools client_tools = {};                  // the tools that the client knows in another form
  std::set<std::string, std::less<>> named = {};  // tools that results refer to: others may wait for that
  std::string_view field = "tools";               // the client's names of the fields
  std::string_view choice_field = "tool_choice";
};

/// Whether the answer is to think, and how hard, as a field of the client says it (reasoning_fields.h). The template
/// learns it by the conversation's names.
struct AskedThinking {
  std::optional<bool> is_on = {};
  bool is_implied = false;  // a level of effort implies it: any other field may say the opposite
  std::string field = {};   // the field that says whether
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
    bool are_listed = false;  // the client's field is an array of texts, perhaps of one
  };
  /// The most tokens of a prompt, which is cut to them; kToTheContext: as many as have room.
  struct MaxTokens {
    int tokens = kToTheContext;
    std::string_view field = {};
  };

  VectorTask task = VectorTask::kVectors;  // kScores becomes kComparisons where the model has no ranking head
  Texts texts = {};
  Texts queries = {};  // the texts to compare with: one, or one for each text
  std::optional<MaxTokens> max_tokens = {};
  int max_document_tokens = 0;  // the most tokens of a ranked document, which is cut to them; 0: the context's
  bool cuts = false;            // a text that has no room loses its end
  bool add_special = true;      // see EmbeddingPromptOptions
  std::optional<std::string> prompt_name = {};  // see EmbeddingPromptOptions
  std::string_view prompt_field = {};           // the field that gives the name, or from which it would follow
  std::string_view dimensions_field = "dimensions";
  bool pools_nothing = false;         // rows of tokens are asked for, whatever the model's pooling is
  bool takes_rows_of_tokens = false;  // the API has a form for rows of tokens
  bool takes_base64 = false;          // the API has base64 as a form of vectors
  VectorForm form = {};
};

struct ApiRequest {
  /// All that the engine is asked for, except the prompt and the number of tokens.
  Request settings = {};
  std::variant<NoPrompt, Conversation, TextPrompts, Gap, AskedVectors> prompt = NoPrompt();
  std::string_view prompt_field = "prompt";
  AnswerLength length = {};
  bool is_seeded = false;                      // a seed was given; else each prompt draws from a seed of its own
  std::optional<Resumption> resumption = {};   // the answer that broke off and goes on
  std::optional<std::string> prediction = {};  // a text that the answer is expected to be near to
  std::vector<std::string> bad_words = {};     // texts that are not to be drawn
  std::optional<AskedConstraint> constraint = {};
  bool closes_objects = true;  // see ConstraintSource
  AskedTools tools = {};
  AskedThinking thinking = {};
  AskedBudget reasoning_budget = {};
  AnswerForm form = {};
  std::string cache_salt = {};
  std::optional<std::chrono::milliseconds> keep_alive = {};  // how long the model stays loaded after this request
  Warnings warnings = {};                                    // the warnings for the client

  /// The prompt of a call for vectors or scores.
  AskedVectors& vectors() { return std::get<AskedVectors>(prompt); }
};

/// Takes the conversation, with its tools, out of a request that has one.
Conversation conversation_of(ApiRequest& request);

}  // namespace octavo
