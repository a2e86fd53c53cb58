// The time to find the tokens that a constraint allows, along texts that fulfil it.
//
//     bench_masks -m MODEL [--dump FILE]
//
// A line of standard input is an object: "schema" (an object), "regex" or "grammar" (texts), and "text". A line of
// standard output answers: "error", or "tokens" (the text's), "compile_us" (schema to automaton), "first_us" (the mask
// before the first token), "mask_us" (behind each token: moving on by it, and the mask), "work" (the steps that each of
// these masks counts for), "too_complex" (masks that take more than a constraint may), "accepted" (how many of the
// tokens are allowed). --dump writes each mask behind the last: a bit for every token, the lowest first, in words
// of 32. bench/masks.py compares them with llguidance's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <iostream>

#include "constraint/constraint_compiler.h"
#include "constraint/constraint_state.h"
#include "engine/text/constraint_words.h"
#include "source/open_model.h"

namespace octavo::bench {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

class Masks {
 public:
  Masks(const ModelTokenizer& words, std::ostream* dump)
      : words_(words),
        compiler_(constraint_vocabulary(words, words.num_tokens()), constraint_token_names(words, words.num_tokens())),
        mask_(mask_words(to_size(words.num_tokens()))),
        dump_(dump) {}

  json::object answer(const json::object& asked) {
    const auto begin = Clock::now();
    auto constraint = compiler_.compile(source_of(asked));
    if (!constraint) return {{"error", constraint.error().message}};
    json::object answer = {{"compile_us", microseconds_since(begin)}};
    const std::vector<TokenId> tokens =
        value_or_throw(words_.tokenizer()->encode(json::value_to<std::string>(asked.at("text")), {}));
    ConstraintState state;
    state.begin(std::move(*constraint), std::nullopt);
    auto begin_of_mask = Clock::now();
    answer["first_us"] = find(state, begin_of_mask);
    json::array times, work;
    std::size_t accepted = 0;
    while (accepted < tokens.size()) {
      begin_of_mask = Clock::now();
      if (!state.accept(tokens[accepted])) break;
      ++accepted;
      times.emplace_back(find(state, begin_of_mask));
      work.emplace_back(work_);
    }
    answer["tokens"] = json::value_from(tokens);
    answer["accepted"] = accepted;
    answer["mask_us"] = std::move(times);
    answer["work"] = std::move(work);
    answer["too_complex"] = std::exchange(num_too_complex_, 0);
    return answer;
  }

 private:
  static ConstraintSource source_of(const json::object& asked) {
    if (const json::value* regex = asked.if_contains("regex"))
      return {.kind = ConstraintKind::kRegex, .text = json::value_to<std::string>(*regex)};
    if (const json::value* grammar = asked.if_contains("grammar"))
      return {.kind = ConstraintKind::kGrammar, .text = json::value_to<std::string>(*grammar)};
    return {.kind = ConstraintKind::kJsonSchema, .text = json::serialize(asked.at("schema"))};
  }

  /// Microseconds since `begin`, with the mask found.
  double find(const ConstraintState& state, Clock::time_point begin) {
    std::ranges::fill(mask_, 0);
    const FoundMask found = state.allow(mask_);
    if (!found) ++num_too_complex_;
    work_ = found.work;
    const double us = microseconds_since(begin);
    if (dump_ != nullptr) {
      dump_->write(reinterpret_cast<const char*>(mask_.data()),
                   static_cast<std::streamsize>(mask_.size() * sizeof(MaskWord)));
      dump_->flush();
    }
    return us;
  }

  const ModelTokenizer& words_;
  ConstraintCompiler compiler_;
  std::vector<MaskWord> mask_;
  std::uint64_t num_too_complex_ = 0;
  std::uint64_t work_ = 0;  // of the last mask
  std::ostream* dump_;
};

void run(const std::string& model, const std::string& dump_path) {
  const auto source = value_or_throw(open_model(model));
  const ModelTokenizer words = value_or_throw(ModelTokenizer::load(*source, true, {}, {}));
  std::ofstream dump(dump_path, std::ios::binary);
  Masks masks(words, dump_path.empty() ? nullptr : &dump);
  json::parse_options options;
  options.max_depth = 300;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << json::serialize(masks.answer(json::parse(line, {}, options).as_object())) << std::endl;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  CLI::App app("Times the masks of constraints.");
  std::string model, dump;
  app.add_option("-m,--model", model)->required();
  app.add_option("--dump", dump);
  CLI11_PARSE(app, argc, argv);
  try {
    octavo::bench::run(model, dump);
  } catch (const std::exception& error) {
    std::cerr << "bench_masks: " << error.what() << '\n';
    return 1;
  }
}
