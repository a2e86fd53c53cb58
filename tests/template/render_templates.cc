// Renders templates with conversations, for tools/compare_templates.py, which has Python do the same.
//     render_templates < JOB.json > RESULT.json
// JOB is {"now": [year, month, day, hour, minute, second], "templates": [source, ...], "inputs": [{name: value}, ...],
// "pairs": [[template, input], ...]}, RESULT a list with a result for each pair: {"spans": [[origin, text], ...]} or
// {"error": message}.
#include <boost/json.hpp>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "template/conversation_json.h"
#include "template/template.h"

namespace {

namespace json = boost::json;
using octavo::Result;
using octavo::jinja::RenderedSpan;
using octavo::jinja::Template;
using octavo::jinja::TemplateInput;

std::tm time_of(const json::array& parts) {
  const auto part = [&](std::size_t i) { return static_cast<int>(parts.at(i).as_int64()); };
  std::tm time{};
  time.tm_year = part(0) - 1900;
  time.tm_mon = part(1) - 1;
  time.tm_mday = part(2);
  time.tm_hour = part(3);
  time.tm_min = part(4);
  time.tm_sec = part(5);
  std::tm with_weekday = time;
  ::timegm(&with_weekday);
  time.tm_wday = with_weekday.tm_wday;
  time.tm_yday = with_weekday.tm_yday;
  return time;
}

json::object result_of(const Result<std::vector<RenderedSpan>>& rendered) {
  if (!rendered) return {{"error", rendered.error().message}};
  json::array spans;
  for (const RenderedSpan& span : *rendered) spans.push_back(json::array{static_cast<int>(span.origin), span.text});
  return {{"spans", std::move(spans)}};
}

json::array run(const json::object& job) {
  const std::tm now = time_of(job.at("now").as_array());
  std::vector<Result<Template>> templates;
  for (const json::value& source : job.at("templates").as_array())
    templates.push_back(Template::compile(std::string_view(source.as_string())));
  std::vector<TemplateInput> inputs(job.at("inputs").as_array().size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    octavo::test::set_names(inputs[i], job.at("inputs").as_array()[i].as_object());
  json::array results;
  for (const json::value& pair : job.at("pairs").as_array()) {
    const auto index = [&](std::size_t i) { return pair.as_array().at(i).to_number<std::size_t>(); };
    const Result<Template>& compiled = templates.at(index(0));
    results.push_back(compiled ? result_of(compiled->render(inputs.at(index(1)), now))
                               : json::object{{"error", compiled.error().message}});
  }
  return results;
}

}  // namespace

int main() {
  const std::string job{std::istreambuf_iterator<char>(std::cin), {}};
  json::parse_options options;
  options.max_depth = 500;
  std::cout << json::serialize(run(json::parse(job, {}, options).as_object()));
  return 0;
}
