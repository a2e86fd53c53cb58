#include "server/ollama_pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "api/call/warnings.h"
#include "api/ollama/ollama_answer.h"
#include "api/ollama/ollama_request.h"
#include "base/error.h"
#include "json/json_cursor.h"
#include "json/json_writer.h"

namespace octavo::server {
namespace {

using Stage = PullNews::Stage;

constexpr std::size_t kShownDigits = 12;  // the digits of a digest in ollama's output

struct Change {
  std::string_view path;
  std::string_view instead;
};
constexpr Change kChanges[] = {
    {.path = "/api/delete", .instead = "removes no models for its clients: type `octavo rm NAME` where it runs"},
    {.path = "/api/copy",
     .instead = "makes no copies of models: a further name for one is a line `alias = [\"NAME\"]` of the file that "
                "`octavo serve --config FILE` reads"},
    {.path = "/api/create",
     .instead = "makes no models for its clients: type `octavo convert` or `octavo quantize` where it runs; a system "
                "prompt and samplers stand in each request"},
    {.path = "/api/push", .instead = "sends models to nobody: type `hf upload`, the hub's own tool, where the file is"},
};

ApiError forbidden(std::string message) {
  return {.status = 403, .message = std::move(message), .type = "permission_error", .code = "not_allowed"};
}

std::string status_line(std::string_view status) { return json_object("status", status) + '\n'; }

std::string file_line(const FetchProgress& file) {
  const std::string_view digits = std::string_view(file.digest).substr(file.digest.find(':') + 1);
  return json_object("status", fmt::format("pulling {}", digits.substr(0, kShownDigits)), "digest", file.digest,
                     "total", file.total_bytes, "completed", file.completed_bytes) +
         '\n';
}

constexpr std::string_view kVerifying = "verifying sha256 digest", kWriting = "writing manifest";

}  // namespace

ApiResult<OllamaPull> parse_ollama_pull(const boost::json::object& body) {
  const JsonCursor given(body), insecure = given["insecure"];
  OCTAVO_TRY(const auto name, to_api_result(given["model"].string()));
  OCTAVO_TRY(const auto older_name, to_api_result(given["name"].string()));
  OCTAVO_TRY(const auto stream, to_api_result(given["stream"].boolean()));
  OCTAVO_TRY(const auto is_insecure, to_api_result(insecure.boolean()));
  if (is_insecure.value_or(false))
    return refused(insecure.error("found true, expected false: the server knows its own hub", "unsupported_parameter"));
  const std::string_view named = name && !name->empty() ? *name : older_name.value_or("");
  if (named.empty())
    return refused(given["model"].error("found none, expected the name of a model", "missing_required_parameter"));
  return OllamaPull{.name = without_latest(named), .stream = stream.value_or(true)};
}

std::string pull_lines(const PullNews& told, const PullNews& news) {
  switch (news.stage) {
    case Stage::kListing: return status_line("pulling manifest");
    case Stage::kFetching: return file_line(news.file);
    case Stage::kVerifying: return file_line(news.file) + status_line(kVerifying);
    case Stage::kOffering: break;
  }
  return (told.stage < Stage::kVerifying ? status_line(kVerifying) : "") + status_line(kWriting);
}

std::string last_pull_lines(const PullNews& told, const ModelPuller::Outcome& outcome) {
  if (!outcome) return ollama_error_body(outcome.error()) + '\n';
  std::string out;
  if (told.stage < Stage::kVerifying) out += status_line(kVerifying);
  if (told.stage < Stage::kOffering) out += status_line(kWriting);
  return out + pull_success(*outcome) + '\n';
}

std::string pull_success(std::span<const std::string> warnings) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("status", "success");
  write_warnings(warnings, json);
  json.end_object();
  return out;
}

ApiError refused_change(std::string_view path) {
  const auto* const change = std::ranges::find(kChanges, path, &Change::path);
  OCTAVO_CHECK(change != std::end(kChanges), "{} changes nothing", path);
  return forbidden(fmt::format("this server {}", change->instead));
}

ApiError pulls_not_allowed() {
  return forbidden(
      "this server fetches no models for its clients: start it with --allow-pull, or type `octavo pull NAME` where it "
      "runs");
}

}  // namespace octavo::server
