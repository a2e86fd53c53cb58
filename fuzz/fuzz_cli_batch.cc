// Any bytes as a line of a batch. It becomes requests or is refused, and its answer is one line of JSON.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "api/fake_text.h"
#include "cli/batch/batch_line.h"

namespace {

using namespace octavo;
using namespace octavo::cli;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const std::string& input) {
  static const test::FakeText words;
  static const ServedModel model{.id = "text"};
  const BatchCall call = parse_batch_line(input, 3, {.max_tokens = 5, .seed = 7}, words, model);
  if (call.call) {
    require(!call.call->requests.empty() && !call.call->stream);
    for (const Request& request : call.call->requests) require(!request.tokens.empty());
  }
  const std::string line =
      call.call ? batch_answer(3, call.custom_id, "{}") : batch_error(3, call.custom_id, call.call.error());
  require(line.find('\n') == line.size() - 1);
  require(line_of_answer(std::string_view(line).substr(0, line.size() - 1)) == 3);
  line_of_answer(input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check(input);
  check(R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":")" + input);
  return 0;
}
