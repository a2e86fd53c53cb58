// Seed-OSS: Qwen3-Coder's form between marks of its own.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = ">",
                                   .behind_name = ">",
                                   .before_key = "<parameter=",
                                   .key_ends = ">",
                                   .behind_key = ">",
                                   .behind_value = "</parameter>",
                                   .behind_call = "</function>"};

Reading<bool> read(CallReader& in, std::size_t) {
  co_await skip_space(in);
  const bool is_call = co_await expect(in, "<function=");
  if (!is_call) co_return false;
  const bool is_read = co_await read_parameter_call(in, kStyle);
  if (!is_read) co_return false;
  co_await skip_space(in);
  co_return co_await expect(in, "</seed:tool_call>");
}

}  // namespace

constinit const ToolFormat kSeedFormat = {
    .name = "seed",
    .signs = {"<seed:tool_call>"},
    .opens = {"<seed:tool_call>"},
    .tokens = {"<seed:tool_call>", "</seed:tool_call>"},
    .end = "</seed:tool_call>",
    .form = {.call = "<seed:tool_call>\n<function=$NAME>\n$PARAMETERS</function>\n</seed:tool_call>",
             .between = "\n",
             .parameter = "<parameter=$KEY>$VALUE</parameter>\n"},
    .read = read};

}  // namespace octavo
