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

/// The values that a server gives to requests that say nothing, and the most that requests may ask for.
struct RequestPolicy {
  int max_choices = kMaxChoices;                             // of one prompt, as many as can advance in one step
  int max_tokens = 0;                                        // of an answer to a request that names no limit; 0: none
  int reasoning_budget = -1;                                 // of chats that name none; -1: any number of tokens
  ReasoningMode reasoning_mode = ReasoningMode::kSplit;      // of chats that name no format
  bool embeds = false;                                       // models that write text make vectors as well
  int norm = 2;                                              // normalize()'s, of vectors where a request says nothing
  int max_client_priority = 0;                               // the highest that a client may ask for
  std::uint64_t max_answer_bytes = std::uint64_t{64} << 20;  // held of one answer; see answer_size.h
  std::string image_placeholder = {};      // stands for images in requests; empty: the model must see them
  PictureBounds picture_bounds = {};       // of a request for a model that sees
  bool closes_objects = true;              // ConstraintSource's, of calls that do not say
  TemplateDict template_names = {};        // for chat templates, where a request gives none of the name
  std::optional<std::uint64_t> seed = {};  // of requests that name none; without: a random one each
};

/// The model that is served; the same for all calls.
struct ServedModel {
  std::string id;                         // as in /v1/models
  std::vector<std::string> aliases = {};  // further names that requests may call it by
  std::string fingerprint = {};           // ModelInfo's
  std::int64_t created = 0;               // seconds since 1970
  SamplingParams sampling_defaults = {};
  bool takes_any_name = false;  // that requests call a model by
  RequestPolicy policy = {};

  /// A loaded model under its first name and the `given` others; without one under its file's.
  static ServedModel of(const ModelInfo& info, std::string id = {}, std::span<const std::string> given = {});
  /// No name is the one model's, or the first one's.
  bool answers_to(std::string_view name) const {
    return takes_any_name || name.empty() || name == id || std::ranges::find(aliases, name) != aliases.end();
  }
};

class PromptLogprobs;
struct ResponseCall;
struct ToolCalling;
struct VectorCall;

/// The answer's data of a prompt whose Request has gone to the engine.
struct CallPrompt {
  TokenId last_token = -1;  // the answer's first token follows it
  std::size_t num_tokens = 0;
  std::int64_t num_image_tokens = 0;              // of them, those of pictures
  std::vector<TokenId> tokens = {};               // with echo, return_token_ids or prompt_logprobs
  std::string text = {};                          // with echo
  std::shared_ptr<PromptLogprobs> logprobs = {};  // with echo and logprobs, or prompt_logprobs: its request fills it
};

/// One call of a completion or a chat, by whichever API, parsed.
struct CompletionCall : AnswerForm {
  bool is_chat = false;
  bool closes_objects = true;  // ConstraintSource's, of all its constraints
  /// The tools of a chat whose answer may call them; else null.
  std::shared_ptr<const ToolCalling> tools = {};
  bool calls_are_functions = false;  // as OpenAI's first form has them: one `function_call`
  /// The rest of a call of /v1/responses; else null.
  std::shared_ptr<const ResponseCall> response = {};
  /// The rest of a call for vectors or scores of texts, whose requests may go to the engine some at a time; else null.
  std::shared_ptr<const VectorCall> vectors = {};
  int n = 1;                           // choices of each prompt
  std::vector<Request> requests = {};  // one a prompt; without cache_domain and owner, which the server sets
  /// The constraint of the requests, until compile_constraint() has compiled it; none: there is none, or it is
  /// compiled.
  std::optional<AskedConstraint> constraint = {};
  std::vector<CallPrompt> prompts = {};                      // beside each request
  Warnings warnings = {};                                    // Constraint's and the API's, which the answer shows
  std::vector<std::string> stop = {};                        // Request::stop, for answers that say at which they ended
  std::shared_ptr<const void> dry_breakers = {};             // ModelText::find_dry_breakers(), held for its requests
  std::optional<std::uint64_t> seed = {};                    // of the request, if it is one
  std::optional<Resumption> resumption = {};                 // of an answer that broke off
  std::string user_cache_salt = {};                          // cache_salt; the server joins it with the key's domain
  std::optional<std::chrono::milliseconds> keep_alive = {};  // ollama's: how long the model stays after this

  /// The stop text of RequestStats::stop_text; empty: none.
  std::string_view stop_text(int index) const {
    return index < 0 ? std::string_view() : std::string_view(stop.at(to_size(index)));
  }
};

/// The 404 of a request for a model that is not served.
ApiError model_not_served(std::string_view name, const ServedModel& model);

/// Compiles CompletionCall::constraint: its requests have it then, and its warnings come first. A constraint takes
/// some seconds at most; those that the model remembers take no time and cannot be stopped. Errors: one that cannot be
/// compiled, with the field; one that `stop` has ended, which leaves the call as it was.
ApiResult<void> compile_constraint(CompletionCall& call, const ModelText& words, const std::stop_token& stop);

/// The answer to one call. `call` outlives it; the requests in it may have been moved from.
class CompletionResponse final : public AnswerWriter {
 public:
  CompletionResponse(const CompletionCall& call, std::shared_ptr<const ModelText> words, const ServedModel& model,
                     std::string_view id, std::int64_t created);
  ~CompletionResponse() override;

  /// "data: {...}\n\n" as often as needed.
  std::string on_event(const RequestEvent& event) override;
  /// It is a prompt's first, and the prompt's log-probabilities are many.
  bool is_long(const RequestEvent& event) const override;
  std::string progress(std::size_t prompt_index, const PromptProgress& progress) const override;
  std::size_t held_bytes() const override;
  bool done() const override;
  const ApiError* error() const override;
  /// "data: {"error": ...}\n\n"
  std::string fail(const ApiError& error) override;
  /// Streamed: the usage chunk if asked for, and "data: [DONE]\n\n".
  std::string finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo
