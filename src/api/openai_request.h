// The parts that a completion's and a chat's JSON are read by; completion.h has the two entrances.
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/completion.h"
#include "api/json_fields.h"
#include "octavo/engine.h"

namespace octavo {

inline constexpr int kMaxAnswersOfCall = 1024;  // prompts times n
inline constexpr std::size_t kMaxStopTexts = 16;
inline constexpr std::size_t kMaxStopBytes = 1024;  // of one stop text
inline constexpr std::size_t kMaxStopTokens = 1024;
inline constexpr std::size_t kMaxLogitBias = 1024;
inline constexpr float kMaxTemperature = 100;
inline constexpr std::int64_t kRandomSeed = -1;  // asks for one, as in llama.cpp and vLLM
inline constexpr std::size_t kMaxAllowedTokens = 65536;
inline constexpr double kMaxDeadlineS = 86400;
inline constexpr std::size_t kMaxSaltBytes = 1024;
inline constexpr std::size_t kMaxRepeatedBytes = std::size_t{16} << 20;  // of settings, in all requests of a call

/// Refuses a `model` that is not the one that is served.
void check_model(JsonFields& fields, const ServedModel& model);

/// Fields that OpenAI, vLLM or llama.cpp know and that ask for what Octavo cannot do: refused, unless their value asks
/// for nothing.
void refuse_unsupported(JsonFields& fields);
/// Those that an answer means the same without: hints, and samplers that are not there. A warning says so.
void warn_of_ignored(JsonFields& fields, std::vector<std::string>& warnings);

/// The drawing of tokens and the end of an answer: all of a Request but its prompt and max_tokens.
void read_sampling(JsonFields& fields, const Engine& engine, const ServedModel& model, Request& request);
/// Of these the samplers that OpenAI does not know, and the words and tokens that may be drawn.
void read_samplers(JsonFields& fields, const Engine& engine, SamplingParams& sampling);

/// CompletionCall::constraints: `response_format`, `structured_outputs`, `guided_regex|choice|grammar|json`, `grammar`,
/// `json_schema`. And how their objects are read: `additional_properties`.
void read_constraint(JsonFields& fields, const Engine& engine, const ServedModel& model, CompletionCall& call);

/// How a chat's reasoning is shown and bounded: Request::reasoning but for the prompt's end, and
/// CompletionCall::reasoning.
void read_reasoning(JsonFields& fields, const Engine& engine, const ServedModel& model, CompletionCall& call,
                    Request& request);
/// The same fields in a completion, where they would have no effect.
void refuse_reasoning(JsonFields& fields);

/// Whether a chat's answer may call tools, and whether it must.
struct ToolChoice {
  enum class Mode : std::uint8_t { kNone, kAuto, kRequired };
  Mode mode = Mode::kNone;
  std::string only = {};  // the tool that must be called; empty: any
};
/// Refuses tools that are none, and a choice that is none of theirs.
ToolChoice read_tool_choice(JsonFields& fields);
/// CompletionCall::tools of a chat that may, and the tokens of its Request that stand in calls.
void read_tool_calling(JsonFields& fields, const Engine& engine, const TemplateValue& tools, const ToolChoice& choice,
                       ClientTools client_tools, CompletionCall& call, Request& request);
/// Refuses tools, or what they were called before, where they would have no effect.
void refuse_tools(JsonFields& fields, std::string_view name, std::string_view choice_name);

/// One prompt of /v1/completions.
struct RawPrompt {
  std::vector<TokenId> tokens;
  std::optional<std::string_view> text;  // if it was given as text; in the body
};
/// `prompt` in each of its four forms: a text, ids, or an array of one of these. Texts are tokenized, as far as they
/// can fit the context, with BOS unless `add_special_tokens` is false. `n`: answers to each, of which a call can have
/// kMaxAnswersOfCall.
ApiResult<std::vector<RawPrompt>> read_prompts(const boost::json::object& body, int n, const Engine& engine);

/// The 400 of a prompt that the context has no room for. `found`: how many tokens, in words. `param`: its field.
ApiError context_overflow(int context, const std::string& param, std::string_view found);
/// The error of a text or a conversation that cannot be tokenized, for want of room or for another reason.
ApiError not_tokenized(const Error& error, int context, const std::string& param, const std::string& name);

/// The 400 of a field that must be there.
ApiError missing_field(const std::string& name, std::string_view expected);

/// The 400 of a tool's name that formats of calls cannot carry.
ApiError wrong_tool_name(const std::string& field, std::optional<std::string_view> found);

/// The `function` of a tool or of a call, whose `type` is no other. `what` it is and which members it has, for errors.
ApiResult<JsonCursor> read_function(const JsonCursor& tool, std::string_view what, std::string_view members);

/// What a chat's prompt is made of.
struct Conversation {
  std::vector<ChatMessage> messages;
  ChatTemplateOptions options = {};
};
/// `messages`, `tools`, `add_generation_prompt`, `continue_final_message`, `reasoning_effort` and
/// `chat_template_kwargs`. `names`: those that the template finds where the body gives none.
ApiResult<Conversation> read_conversation(const boost::json::object& body, TemplateDict names);

}  // namespace octavo
