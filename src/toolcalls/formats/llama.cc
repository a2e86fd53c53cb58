// Llama 3.1 to 3.3: an object in JSON with `parameters`, alone or behind a control token.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kLlamaFormat = {
    .name = "llama",
    .signs = {"\"parameters\": ", "ipython", "<|start_header_id|>"},
    .opens = {"{", "<|python_tag|>"},
    .tokens = {"<|python_tag|>"},
    .at_beginning = true,
    .only_known = true,
    .form = {.call = "{\"name\": \"$NAME\", \"parameters\": $ARGS}", .is_repeated = false},
    .read = [](CallReader& in, std::size_t open) { return read_json_calls(in, {}, open == 0 ? '{' : '\0'); }};

}  // namespace octavo
