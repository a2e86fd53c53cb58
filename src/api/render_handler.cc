#include "api/render_handler.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <optional>

#include "json/json_writer.h"

namespace octavo {
namespace {

void write_sampling(JsonWriter& json, const CompletionCall& call, const Request& request, bool is_seeded) {
  const SamplingParams& sampling = request.sampling;
  json.key("sampling_params")
      .object("n", call.n, "temperature", sampling.temperature, "top_p", sampling.top_p, "top_k", sampling.top_k,
              "min_p", sampling.min_p, "repetition_penalty", sampling.repetition_penalty, "presence_penalty",
              sampling.presence_penalty, "frequency_penalty", sampling.frequency_penalty, "seed",
              is_seeded ? std::optional(sampling.seed) : std::nullopt, "stop", call.stop, "stop_token_ids",
              request.stop_tokens, "ignore_eos", request.ignore_eos, "max_tokens",
              request.max_tokens > 0 ? std::optional(request.max_tokens) : std::nullopt, "min_tokens",
              request.min_tokens);
}

/// One prompt, in the form of vLLM's GenerateRequest.
void write_prompt(JsonWriter& json, std::string_view id, const CompletionCall& call, const Request& request,
                  const TokenizeCall& asked, const ApiContext& context) {
  json.begin_object().fields("request_id", id, "token_ids", request.tokens, "token_offsets", nullptr, "features",
                             nullptr);
  const boost::json::value* const seed = asked.body.if_contains("seed");
  write_sampling(json, call, request, seed != nullptr && !seed->is_null());
  json.fields("model", context.model.id, "stream", call.stream, "stream_options", nullptr, "cache_salt",
              call.user_cache_salt.empty() ? std::nullopt : std::optional<std::string_view>(call.user_cache_salt),
              "priority", request.priority, "kv_transfer_params", nullptr)
      .end_object();
}

}  // namespace

ApiResult<std::string> answer_render(const TokenizeCall& asked, const ApiContext& context, BufferedAnswer& held) {
  OCTAVO_TRY(const CompletionCall call, asked.api->parse(asked.body, context));
  const bool is_list = asked.api->rendered.is_list;
  std::string out;
  JsonWriter json(out);
  if (is_list) json.begin_array();
  for (std::size_t i = 0; i < call.requests.size(); ++i) {
    const std::string_view prefix = call.is_chat ? "chatcmpl-" : "cmpl-";
    const std::string id =
        is_list ? fmt::format("{}{}-{}", prefix, asked.id, i) : fmt::format("{}{}", prefix, asked.id);
    write_prompt(json, id, call, call.requests[i], asked, context);
    if (auto error = held.hold(out.size())) return std::unexpected(std::move(*error));
  }
  if (is_list) json.end_array();
  return out;
}

}  // namespace octavo
