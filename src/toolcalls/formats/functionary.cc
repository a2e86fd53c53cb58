// Functionary 3.1: a name in a mark, and arguments in JSON behind it.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

Reading<bool> read(CallReader& in, std::size_t) {
  std::string name;
  const bool has_name = co_await read_name(in, ">", name);
  if (!has_name) co_return false;
  const bool ends = co_await expect(in, ">");
  if (!ends || !in.begin(name)) co_return false;
  co_return co_await read_rest_of_call(in, "</function>");
}

}  // namespace

constinit const ToolFormat kFunctionaryFormat = {.name = "functionary",
                                                 .signs = {"<function=", "</function>"},
                                                 .opens = {"<function="},
                                                 .form = {.call = "<function=$NAME>$ARGS</function>"},
                                                 .read = read};

}  // namespace octavo
