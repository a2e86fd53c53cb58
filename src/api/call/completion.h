// Between HTTP and the engine: what a client's JSON asks for as engine requests, and the engine's events as the bytes
// that the client gets. Pure functions of their input; no I/O.
//
// parse_* are called on a worker thread (they tokenize); a CompletionResponse is used by one thread, the I/O thread.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "api/call/answer_form.h"
#include "api/call/answer_writer.h"
#include "api/call/api_error.h"
#include "api/call/api_request.h"
#include "api/call/warnings.h"
#include "base/to_size.h"
#include "octavo/model_text.h"
#include "octavo/picture.h"
#include "octavo/request_event.h"

namespace octavo {

/// The values that a server gives to requests that leave them out, and the most that requests may ask for.
struct RequestPolicy {
  int max_choices = kMaxChoices;                             // for one prompt: as many as can advance in one step
  int max_tokens = 0;                                        // for answers to requests that name no limit; 0: none
  int reasoning_budget = -1;                                 // for chats that name none; -1: any number of tokens
  ReasoningMode reasoning_mode = ReasoningMode::kSplit;      // for chats that name no format
  bool embeds = false;                                       // models that write text make vectors, too
  int norm = 2;                                              // normalize()'s argument, where a request gives none
  int max_client_priority = 0;                               // the highest that a client may ask for
  std::uint64_t max_answer_bytes = std::uint64_t{64} << 20;  // the most that are held of one answer (answer_size.h)
  std::string image_placeholder = {};      // replaces images where the model sees none; empty: they are refused
  PictureBounds picture_bounds = {};       // for a model that sees
  bool closes_objects = true;              // see ConstraintSource; for calls that do not say
  TemplateDict template_names = {};        // names for chat templates; the request's own names go before them
  std::optional<std::uint64_t> seed = {};  // for requests that give none; nothing: each gets a random one
};

/// The model that is served; the same for all calls.
struct ServedModel {
  std::string id;                         // the id in /v1/models
  std::vector<std::string> aliases = {};  // further names by which requests may call it
  std::string fingerprint = {};           // ModelInfo::fingerprint
  std::string settings = {};              // settings_fingerprint(); empty: it is not told
  std::int64_t created = 0;               // seconds since 1970
  SamplingParams sampling_defaults = {};
  bool takes_any_name = false;  // requests may call the model by any name
  RequestPolicy policy = {};

  /// A loaded model with the name `id` and further names `given`; empty `id`: the file's name.
  static ServedModel of(const ModelInfo& info, std::string id = {}, std::span<const std::string> given = {});
  /// Whether the model is meant by `name`; an empty name means it.
  bool answers_to(std::string_view name) const {
    return takes_any_name || name.empty() || name == id || std::ranges::find(aliases, name) != aliases.end();
  }
};

class PromptLogprobs;
struct ResponseCall;
struct ToolCalling;
struct VectorCall;

/// The facts about its prompt that an answer needs after the Request has gone to the engine.
struct CallPrompt {
  TokenId last_token = -1;  // the answer's first token follows this one
  std::size_t num_tokens = 0;
  std::int64_t num_image_tokens = 0;              // how many of the tokens are of pictures
  std::vector<TokenId> tokens = {};               // kept for echo, return_token_ids and prompt_logprobs
  std::string text = {};                          // kept for echo
  std::shared_ptr<PromptLogprobs> logprobs = {};  // for echo with logprobs, and prompt_logprobs; the request fills it
};

/// One parsed call of a completion or a chat, of any API.
struct CompletionCall : AnswerForm {
  bool is_chat = false;
  bool closes_objects = true;  // see ConstraintSource; for all its constraints
  /// The tools of a chat whose answer may call them; else null.
  std::shared_ptr<const ToolCalling> tools = {};
  bool calls_are_functions = false;  // the answer has one `function_call`, OpenAI's older form
  /// The parts of a call of /v1/responses alone; else null.
  std::shared_ptr<const ResponseCall> response = {};
  /// The parts of a call for vectors or scores alone, whose requests may go to the engine some at a time; else null.
  std::shared_ptr<const VectorCall> vectors = {};
  int n = 1;                           // choices of each prompt
  std::vector<Request> requests = {};  // one for each prompt; the server sets their cache_domain and owner
  /// The constraint of the requests until compile_constraint() has compiled it; none: there was none, or it is
  /// compiled.
  std::optional<AskedConstraint> constraint = {};
  std::vector<CallPrompt> prompts = {};                      // one for each request
  Warnings warnings = {};                                    // the constraint's and the API's, which the answer shows
  std::vector<std::string> stop = {};                        // Request::stop, for answers that say which ended them
  std::shared_ptr<const void> dry_breakers = {};             // ModelText::find_dry_breakers(), held for its requests
  std::optional<std::uint64_t> seed = {};                    // of the request, if it is one
  std::optional<Resumption> resumption = {};                 // of an answer that broke off
  std::string user_cache_salt = {};                          // cache_salt; the server joins it with the key's domain
  std::optional<std::chrono::milliseconds> keep_alive = {};  // how long the model stays loaded after this call (ollama)

  /// The stop text of this RequestStats::stop_text; empty: none.
  std::string_view stop_text(int index) const {
    return index < 0 ? std::string_view() : std::string_view(stop.at(to_size(index)));
  }
};

/// The error (404) of a request for a model that is not served.
ApiError model_not_served(std::string_view name, const ServedModel& model);

/// Compiles CompletionCall::constraint into the requests, and puts its warnings first. It takes some seconds at most; a
/// constraint that the model remembers takes no time and cannot be stopped. Errors: the constraint cannot be compiled,
/// with its field; `stop` ended it, and the call is as it was.
ApiResult<void> compile_constraint(CompletionCall& call, const ModelText& words, const std::stop_token& stop);

/// The answer to one call. `call` outlives it; the requests in it may have been moved from.
class CompletionResponse final : public AnswerWriter {
 public:
  CompletionResponse(const CompletionCall& call, std::shared_ptr<const ModelText> words, const ServedModel& model,
                     std::string_view id, std::int64_t created);
  ~CompletionResponse() override;

  /// The events of the stream, each as "data: {...}\n\n".
  std::string on_event(const RequestEvent& event) override;
  /// Whether this is a prompt's first event and the prompt has many log-probabilities to write.
  bool is_long(const RequestEvent& event) const override;
  std::string progress(std::size_t prompt_index, const PromptProgress& progress) const override;
  std::size_t held_bytes() const override;
  bool done() const override;
  const ApiError* error() const override;
  /// The last event of the stream: "data: {"error": ...}\n\n".
  std::string fail(const ApiError& error) override;
  /// Streamed: the chunk with the usage, if it is asked for, and "data: [DONE]\n\n".
  std::string finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo
