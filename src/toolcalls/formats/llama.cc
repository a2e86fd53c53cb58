// Llama 3.1 to 3.3, and 4: an object in JSON with `parameters`, alone or behind a control token; of Llama 4 between
// two, or behind both.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kPythonStart = "<|python_start|>", kPythonEnd = "<|python_end|>";

Reading<bool> read_llama4(CallReader& in, std::size_t open) {
  if (open == 0) co_return co_await read_json_calls(in, {}, '{');
  const int next = co_await in.peek();
  if (next != '<') co_return co_await read_json_calls(in, kPythonEnd);
  const bool ends = co_await expect(in, kPythonEnd);
  if (!ends) co_return false;
  co_return co_await read_json_calls(in, {});
}

}  // namespace

constinit const ToolFormat kLlamaFormat = {
    .name = "llama",
    .signs = {"\"parameters\": ", "ipython", "<|start_header_id|>"},
    .opens = {"{", "<|python_tag|>"},
    .tokens = {"<|python_tag|>"},
    .at_beginning = true,
    .only_known = true,
    .form = {.call = "{\"name\": \"$NAME\", \"parameters\": $ARGS}", .is_repeated = false},
    .read = [](CallReader& in, std::size_t open) { return read_json_calls(in, {}, open == 0 ? '{' : '\0'); }};

constinit const ToolFormat kLlama4Format = {
    .name = "llama4",
    .signs = {"\"parameters\": ", "ipython", "<|header_start|>"},
    .opens = {"{", kPythonStart},
    .tokens = {kPythonStart, kPythonEnd},
    .at_beginning = true,
    .only_known = true,
    .form = {.call = "{\"name\": \"$NAME\", \"parameters\": $ARGS}", .is_repeated = false},
    .read = read_llama4};

}  // namespace octavo
