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
  std::string_view id;   // 16 hexadecimal digits that no other call has
  std::int64_t created;  // seconds since 1970
};

/// What the stream of a refused call is written from.
struct RefusedStream {
  const ApiError& error;
  std::string_view model;  // its id
  std::string_view id;     // as NewAnswer's
  std::int64_t created;    // seconds since 1970
};

/// A path where the tokens of a body's prompt are counted.
struct CountedPath {
  std::string_view path = {};  // empty: there is none
  ApiFields (*fields)() = nullptr;
  ApiResult<ApiRequest> (*read)(const boost::json::object& body, const ApiContext& context) = nullptr;
  std::string_view answer = {};  // its JSON in front of the number
};

/// Whether a model answers calls of one kind. The model need not be loaded.
using Serves = bool (*)(const ModelInfo& info, const RequestPolicy& policy);

using WriteError = std::string (*)(const ApiError& error);

/// A path of an API whose errors have another API's form.
struct ErrorForm {
  std::string_view path = {};
  WriteError write = nullptr;
};

struct Api {
  std::string_view name;
  std::string_view summary = {};               // what it does, in a line
  std::array<std::string_view, 5> paths = {};  // of its POST; an empty one is none
  std::string_view example = {};               // a body with what is needed, in JSON
  Serves serves = nullptr;                     // the models that bodies without a name are for
  std::string_view root = {};                  // paths that begin so have errors in its form; empty: none but its own
  ApiFields (*fields)() = nullptr;
  ApiResult<CompletionCall> (*parse)(const boost::json::object& body, const ApiContext& context) = nullptr;
  std::unique_ptr<AnswerWriter> (*make_writer)(const NewAnswer& answer) = nullptr;
  std::string_view stream_type = "text/event-stream; charset=utf-8";  // Content-Type of a stream; empty: there is none
  WriteError error_body = nullptr;
  std::array<ErrorForm, 2> other_errors = {};
  /// The whole stream of a call that the context has no room for, where the API's clients look for that there alone;
  /// null: it is an error as any other.
  std::string (*refused_stream)(const RefusedStream& refused) = nullptr;
  CountedPath counted = {};
  bool has_tags = false;  // its clients write ":latest" behind names, and `name` for `model`
  /// The answer to a body that lets its model go (asks_to_unload()); null: there are no such bodies.
  std::string (*unloaded)(std::string_view model, std::span<const std::string> warnings) = nullptr;
};

/// The rows of the table.
std::span<const Api> all_apis();
/// One of them, which there must be.
const Api& api_named(std::string_view name);
/// The form that the errors of a path have; OpenAI's where it is no API's.
WriteError error_form(std::span<const Api> apis, std::string_view path);

/// The call that a body asks for. `responses`: those that one of /v1/responses may go on with, and where its own will
/// be kept. Images for a model that sees none are replaced by the placeholder, if there is one, which a warning says.
/// It ends soon, with an error, once the stop is asked for. `prompt`: token ids that take the place of the body's.
/// `unfetched`: ApiContext's.
ApiResult<CompletionCall> parse_call(const Api& api, boost::json::object body, const ModelText& words,
                                     const ServedModel& model, const OwnResponses& responses,
                                     const std::stop_token& stop = {}, std::span<const TokenId> prompt = {},
                                     const UnfetchedPictures* unfetched = nullptr);

}  // namespace octavo
