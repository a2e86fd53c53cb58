#include "api/llama/llama_answer.h"

#include <utility>

#include "api/answers/llama_timings.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

void write_probabilities(std::string_view elements, JsonWriter json) {
  if (!elements.empty()) json.fields("completion_probabilities", JsonElements{elements});
}

}  // namespace

LlamaAnswer::LlamaAnswer(const CompletionCall& call, std::string id, std::string model,
                         std::shared_ptr<const ModelText> words)
    : AnswerBlocks(call, std::move(id), std::move(words), LogprobForm::kLlama), model_(std::move(model)) {}

/// Begins the object, up to its `content`.
JsonWriter LlamaAnswer::begin_object(std::string_view content, std::string& out) {
  return JsonWriter(out).begin_object().fields("index", 0, "id_slot", -1, "tokens", take_tokens(), "content", content);
}

void LlamaAnswer::write_delta(const Block&, std::size_t, std::string_view delta, std::string& out) {
  out += "data: ";
  const JsonWriter json = begin_object(delta, out).fields("stop", false);
  write_probabilities(delta_logprobs(), json);
  out += "}\n\n";
}

void LlamaAnswer::write_last(std::string_view content, std::string_view probabilities, std::string& out) {
  const std::string_view word = stop_text();
  JsonWriter json = begin_object(content, out);
  json.fields("stop", true, "model", model_, "tokens_predicted", stats().generated_tokens, "tokens_evaluated",
              stats().prompt_tokens, "tokens_cached", stats().prompt_tokens + stats().generated_tokens, "stop_type",
              finish_reason() != FinishReason::kStop ? "limit"
              : word.empty()                         ? "eos"
                                                     : "word",
              "stopping_word", word, "truncated", false);
  LlamaTimings timings;
  timings.add(stats(), true);
  timings.write(json);
  write_probabilities(probabilities, json);
  write_warnings(call().warnings, json);
  json.end_object();
}

void LlamaAnswer::write_end(std::string& out) {
  out += "data: ";
  write_last({}, {}, out);
  out += "\n\n";
}

void LlamaAnswer::write_error(const ApiError& error, std::string& out) { out += "data: " + error_body(error) + "\n\n"; }

std::string LlamaAnswer::body() {
  std::string content, probabilities, out;
  for (const Block& block : blocks()) {
    content += block.text;
    probabilities += block.logprobs;  // a completion has neither reasoning nor calls, so that all text is in one block
  }
  write_last(content, probabilities, out);
  return out;
}

}  // namespace octavo
