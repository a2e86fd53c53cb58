// Says of texts whether a JSON schema's grammar takes them, and makes texts of it: what scripts compare with other
// implementations (tools/schema_truth.py).
//
// A line of standard input is an object: "schema" (its text), "strict", "texts" (to be judged), "draws" (how many texts
// to make), "seed". A line of standard output answers: "error" or "warnings", "accepted" and "read"
// (beside the texts: whether, and up to which byte), "drawn",
// "seconds" (that it took to make the automaton), "states" (that it has).
#include <boost/json.hpp>
#include <chrono>
#include <iostream>
#include <random>
#include <string>

#include "constraint/automaton/automaton.h"
#include "constraint/automaton/configurations.h"
#include "constraint/schema/json_schema.h"

namespace {

using namespace octavo;
namespace json = boost::json;

constexpr std::size_t kMostDrawn = 2000;  // bytes of a text that is made

struct Reading {
  bool is_accepted = false;
  std::size_t num_read = 0;  // bytes that a text may begin with
};

Reading read(const Automaton& automaton, std::string_view text) {
  CallStacks stacks;
  ConfigurationStepper stepper(automaton, stacks);
  ConfigurationSet set = stepper.enter(automaton.start());
  for (std::size_t i = 0; i < text.size(); ++i) {
    set = stepper.after_byte(set.members, static_cast<std::uint8_t>(text[i]));
    if (set.is_dead()) return {.num_read = i};
  }
  return {.is_accepted = set.is_complete, .num_read = text.size()};
}

/// A text of random bytes that may follow; nothing where it does not come to an end.
std::optional<std::string> draw(const Automaton& automaton, std::mt19937_64& random) {
  CallStacks stacks;
  ConfigurationStepper stepper(automaton, stacks);
  ConfigurationSet set = stepper.enter(automaton.start());
  std::string text;
  while (text.size() < kMostDrawn) {
    std::vector<Automaton::Edge> edges;
    for (const auto& [state, stack] : set.members)
      for (const Automaton::Edge& edge : automaton.edges(automaton.at(state))) edges.push_back(edge);
    if (set.is_complete && (edges.empty() || random() % 4 == 0)) return text;
    if (edges.empty()) return std::nullopt;
    const Automaton::Edge& edge = edges[random() % edges.size()];
    const auto byte = static_cast<std::uint8_t>(edge.low + random() % (edge.high - edge.low + 1U));
    ConfigurationSet next = stepper.after_byte(set.members, byte);
    if (next.is_dead()) continue;  // the edge leads to nothing
    set = std::move(next);
    text += static_cast<char>(byte);
  }
  return std::nullopt;
}

json::object answer(const json::object& asked) {
  const auto begin = std::chrono::steady_clock::now();
  Grammar grammar;
  JsonGrammar values(grammar);
  std::vector<std::string> warnings;
  const auto strictness = asked.at("strict").as_bool() ? SchemaStrictness::kStrict : SchemaStrictness::kLoose;
  const auto root = read_json_schema(asked.at("schema").as_string(), strictness, values, warnings);
  if (!root) return {{"error", root.error().message}};
  grammar.set_root(*root);
  const auto automaton = Automaton::build(grammar);
  if (!automaton) return {{"error", automaton.error().message}};
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  json::object answer = {
      {"warnings", json::value_from(warnings)}, {"states", automaton->num_states()}, {"seconds", seconds}};
  json::array accepted, num_read, drawn;
  for (const json::value& text : asked.at("texts").as_array()) {
    const Reading reading = read(*automaton, text.as_string());
    accepted.emplace_back(reading.is_accepted);
    num_read.emplace_back(reading.num_read);
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(asked.contains("seed") ? asked.at("seed").as_int64() : 0));
  for (std::int64_t i = asked.contains("draws") ? asked.at("draws").as_int64() : 0; i > 0; --i)
    if (auto text = draw(*automaton, random)) drawn.emplace_back(*text);
  answer["accepted"] = std::move(accepted);
  answer["read"] = std::move(num_read);
  answer["drawn"] = std::move(drawn);
  return answer;
}

}  // namespace

int main() {
  json::parse_options options;
  options.max_depth = 300;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << json::serialize(answer(json::parse(line, {}, options).as_object())) << std::endl;
}
