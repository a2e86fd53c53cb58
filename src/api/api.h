// The APIs by which answers are asked for, one row each: where a body goes, which fields it has, how it is read, how
// the answer and an error are written. A new one is a row, and the functions that it names.
//
// Constants. parse runs on a worker thread (it tokenizes), the rest on the I/O thread.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "api/call/answer_writer.h"
#include "api/call/api_error.h"
#include "api/call/api_field.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"

namespace octavo {

/// The things that an answer is written from. The call outlives the writer.
struct NewAnswer {
  const CompletionCall& call;
  std::shared_ptr<const ModelText> words;
  const ServedModel& model;
  std::string_view id;   // 16 hexadecimal digits, different for each call
  std::int64_t created;  // seconds since 1970
};

/// The things that the stream of a refused call is written from.
struct RefusedStream {
  const ApiError& error;
  std::string_view model;  // the model's id
  std::string_view id;     // as in NewAnswer
  std::int64_t created;    // seconds since 1970
};

/// A path where the tokens of a body's prompt are counted.
struct CountedPath {
  std::string_view path = {};  // empty: there is none
  ApiFields (*fields)() = nullptr;
  ApiResult<ApiRequest> (*read)(const boost::json::object& body, const ApiContext& context) = nullptr;
  std::string_view answer = {};  // the answer's JSON up to the number
};

/// A path that tells the tokens of a body's prompts, and what the engine would be asked for, without an answer.
struct RenderedPath {
  std::string_view path = {};  // empty: there is none
  bool is_list = false;        // a body may have several prompts: the answer is a list
};

/// Whether a model answers calls of one kind. The model need not be loaded.
using Serves = bool (*)(const ModelInfo& info, const RequestPolicy& policy);

using WriteError = std::string (*)(const ApiError& error);

/// A path of an API whose errors have the form of another API.
struct ErrorForm {
  std::string_view path = {};
  WriteError write = nullptr;
};

struct Api {
  std::string_view name;
  std::string_view summary = {};               // what the API does, in one line
  std::array<std::string_view, 5> paths = {};  // the paths of its POST; an empty one is none
  std::string_view example = {};               // a body in JSON with the fields that are needed
  Serves serves = nullptr;                     // whether the API can be asked of a model, for bodies that name none
  std::string_view root = {};                  // all paths that begin so have errors in its form; empty: its own alone
  ApiFields (*fields)() = nullptr;
  ApiResult<CompletionCall> (*parse)(const boost::json::object& body, const ApiContext& context) = nullptr;
  std::unique_ptr<AnswerWriter> (*make_writer)(const NewAnswer& answer) = nullptr;
  std::string_view stream_type = "text/event-stream; charset=utf-8";  // Content-Type of a stream; empty: there is none
  WriteError error_body = nullptr;
  std::array<ErrorForm, 2> other_errors = {};
  /// The whole stream for a call that has no room in the context, where the API's clients look for that error in a
  /// stream alone; null: it is answered as any other error.
  std::string (*refused_stream)(const RefusedStream& refused) = nullptr;
  CountedPath counted = {};
  RenderedPath rendered = {};
  bool has_tags = false;  // its clients write ":latest" behind model names, and `name` for `model`
  /// The answer to a body that unloads its model (asks_to_unload()); null: there are no such bodies.
  std::string (*unloaded)(std::string_view model, std::span<const std::string> warnings) = nullptr;
};

/// The rows of the table.
std::span<const Api> all_apis();
/// The function that writes the errors of a path; that of OpenAI's API for paths of no API.
WriteError error_form(std::span<const Api> apis, std::string_view path);

/// Reads the call that a body asks for. `responses`: the stored responses, which a call of /v1/responses may continue
/// and is added to. Images for a model that sees none are replaced by the placeholder, if there is one, and a warning
/// says so. Ends soon, with an error, once the stop is asked for. `prompt`: token ids that replace the body's prompt.
/// `unfetched`: see ApiContext.
ApiResult<CompletionCall> parse_call(const Api& api, boost::json::object body, const ModelText& words,
                                     const ServedModel& model, const OwnResponses& responses,
                                     const std::stop_token& stop = {}, std::span<const TokenId> prompt = {},
                                     const UnfetchedPictures* unfetched = nullptr);

}  // namespace octavo
