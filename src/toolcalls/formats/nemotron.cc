// Nemotron Nano 2: an array in JSON between marks.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

Reading<bool> read(CallReader& in, std::size_t) { co_return co_await read_json_calls(in, "</TOOLCALL>"); }

}  // namespace

constinit const ToolFormat kNemotronFormat = {.name = "nemotron",
                                              .signs = {"<TOOLCALL>"},
                                              .opens = {"<TOOLCALL>"},
                                              .tokens = {"<TOOLCALL>", "</TOOLCALL>"},
                                              .form = {.open = "<TOOLCALL>[",
                                                       .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
                                                       .between = ", ",
                                                       .close = "]</TOOLCALL>"},
                                              .read = read};

}  // namespace octavo
