// firefunction 2: an array in JSON behind a word, up to the answer's end.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kFunctoolsFormat = {
    .name = "functools",
    .signs = {"functools["},
    .opens = {"functools["},
    .form = {.open = "functools[",
             .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
             .between = ", ",
             .close = "]"},
    .read = [](CallReader& in, std::size_t) { return read_json_calls(in, {}, '['); }};

}  // namespace octavo
