// Nemotron Nano 2: an array in JSON between marks.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kNemotronFormat = {
    .name = "nemotron",
    .signs = {"<TOOLCALL>"},
    .opens = {"<TOOLCALL>"},
    .tokens = {"<TOOLCALL>", "</TOOLCALL>"},
    .form = {.open = "<TOOLCALL>[",
             .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
             .between = ", ",
             .close = "]</TOOLCALL>"},
    .read = [](CallReader& in, std::size_t) { return read_json_calls(in, "</TOOLCALL>"); }};

}  // namespace octavo
