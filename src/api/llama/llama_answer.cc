#include "api/llama/llama_answer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/answers/llama_timings.h"
#include "api/call/json_writer.h"

namespace octavo {
namespace {

void append_probabilities(std::string_view elements, std::string& out) {
  if (elements.empty()) return;
  out += ",\"completion_probabilities\":[";
  out += elements;
  out += ']';
}

}  // namespace

LlamaAnswer::LlamaAnswer(const CompletionCall& call, std::string id, std::string model,
                         std::shared_ptr<const ModelText> words)
    : AnswerBlocks(call, std::move(id), std::move(words), LogprobForm::kLlama), model_(std::move(model)) {}

/// The object's members in front of the text.
void LlamaAnswer::append_begin(std::string& out) {
  out += R"({"index":0,"id_slot":-1,"tokens":)";
  append_json_ids(out, take_tokens());
  out += ',';
}

void LlamaAnswer::write_delta(const Block&, std::size_t, std::string_view delta, std::string& out) {
  out += "data: ";
  append_begin(out);
  append_json_field(out, "content", delta);
  out += ",\"stop\":false";
  append_probabilities(delta_logprobs(), out);
  out += "}\n\n";
}

void LlamaAnswer::append_end(std::string_view content, std::string_view probabilities, std::string& out) {
  append_begin(out);
  append_json_field(out, "content", content);
  out += ",\"stop\":true,";
  append_json_field(out, "model", model_);
  fmt::format_to(std::back_inserter(out), ",\"tokens_predicted\":{},\"tokens_evaluated\":{},\"tokens_cached\":{},",
                 stats().generated_tokens, stats().prompt_tokens, stats().prompt_tokens + stats().generated_tokens);
  const std::string_view word = stop_text();
  append_json_field(out, "stop_type", finish_reason() != FinishReason::kStop ? "limit" : word.empty() ? "eos" : "word");
  out += ',';
  append_json_field(out, "stopping_word", word);
  out += ",\"truncated\":false";
  LlamaTimings timings;
  timings.add(stats(), true);
  timings.append(out);
  append_probabilities(probabilities, out);
  append_warnings(out, call().warnings);
  out += '}';
}

void LlamaAnswer::write_end(std::string& out) {
  out += "data: ";
  append_end({}, {}, out);
  out += "\n\n";
}

void LlamaAnswer::write_error(const ApiError& error, std::string& out) { out += "data: " + error_body(error) + "\n\n"; }

std::string LlamaAnswer::body() {
  std::string content, probabilities, out;
  for (const Block& block : blocks()) {
    content += block.text;
    probabilities += block.logprobs;  // all text is one block: a completion has no reasoning and no calls
  }
  append_end(content, probabilities, out);
  return out;
}

}  // namespace octavo
