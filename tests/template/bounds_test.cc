// Templates that would run for ever, or take all memory, end with an error, and soon.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <ctime>
#include <stop_token>
#include <string>
#include <string_view>

#include "template/support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define OCTAVO_TIME_FACTOR 20
#else
#define OCTAVO_TIME_FACTOR 1
#endif

namespace octavo {
namespace {

using ::testing::HasSubstr;

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// It takes about a third of it where nothing else runs; sanitizers and other tests beside it cost more.
constexpr double kMostSeconds = 0.3 * OCTAVO_TIME_FACTOR;

/// Runs something whose time of this process is bounded.
template <class Run>
void in_time(std::string_view source, const Run& run) {
  const std::clock_t begin = std::clock();
  run();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kMostSeconds) << source.substr(0, 100);
}

/// A template that must fail, within the time that is given to hostile ones.
void expect_failure(std::string_view source) {
  std::string message;
  in_time(source, [&] { message = test::render_or_error(source); });
  EXPECT_THAT(message.substr(0, 200), HasSubstr("chat template")) << source.substr(0, 100);
}

TEST(TemplateBounds, LoopsEnd) {
  for (const std::string_view source :
       {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{{ "
        "ns.x|tojson }}",
        "{% set ns = namespace(x=1, y=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}"
        "{% endfor %}{{ ns.x == ns.y }}",
        "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = (ns.x,) %}{% endfor %}{{ {ns.x: 1} }}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
        "{% set ns = namespace(x='a') %}{% for i in range(9999) %}{% set ns.x = ns.x|map('upper') %}{% endfor %}"
        "{{ ns.x|list }}",
        "{% set x = range(99999)|list %}{% for i in range(99999) %}{{ 100000 in x }}{% endfor %}",
        "{% set x = range(99999)|map('string')|list %}{% for i in range(999) %}{{ x|sort|length }}{% endfor %}",
        "{% for i in range(99999) %}{{ range(99999)|unique|list|length }}{% endfor %}"})
    expect_failure(source);
}

TEST(TemplateBounds, MemoryEnds) {
  for (const std::string_view source :
       {"{{ 'x' * 10**9 }}",
        "{{ 'x' * 10**18 }}",
        "{{ [1] * 10**9 }}",
        "{{ [1] * 10**18 }}",
        "{{ 'xy'|replace('x', 'x' * 10**7)|replace('x', 'y' * 10**5) }}",
        "{% set x = 'x' * 10**6 %}{% for i in range(99999) %}{{ x }}{% endfor %}",
        "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set x = ['x' * 1000] * 10000 %}{{ x|join(x|join) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (10**12, 1) }}",
        "{{ '%-*d' % (-10**18, 1) }}",
        "{{ '%.1000000000f' % 1 }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ '{:>{w}}'.format('a', w=10**12) }}",
        "{{ 'x'.center(10**9) }}",
        "{{ 'x'.zfill(10**18) }}",
        "{{ 'x'|center(10**9) }}",
        "{{ 'a\\tb'.expandtabs(10**9) }}",
        "{{ 'a\nb'|indent(10**9) }}",
        "{{ [1]|tojson(indent=10**9) }}",
        "{{ [1]|batch(10**9, 'x')|list }}",
        "{{ []|slice(10**9, 'x')|list }}",
        "{{ 2 ** 10**9 }}",
        "{{ strftime_now('%1000000000Y') }}",
        "{% set x = 'ab' * 10**6 %}{% for i in range(99999) %}{{ x[::2]|length }}{% endfor %}",
        "{% set x = 'ab' * 10**6 %}{% for i in range(99999) %}{{ x.split('a')|length }}{% endfor %}",
        "{% set x = 'a' * 10**6 %}{% for i in range(99999) %}{{ (x ~ 'b') in x }}{% endfor %}",
        "{% set x = 'a' * 10**6 %}{% for i in range(99999) %}{{ x.count('aaaab') }}{{ x.find('b') }}{% endfor %}",
        "{% set x = 'a' * 10**6 %}{% set y = 'b' ~ 'a' * 10**5 %}{{ x.rsplit(y) }}{% for i in range(99999) %}"
        "{{ x.rsplit(y)|length }}{% endfor %}",
        "{% set x = '\\u03a3\\'' * 10**6 %}{% for i in range(99999) %}{{ x|lower|length }}{% endfor %}",
        "{% set x = 'x' * 10**6 %}{% for i in range(99999) %}{{ x.strip('abcdefghijklmnopqrstuvwx')|length }}{% endfor "
        "%}",
        "{% set x = ('x' * 10**5)|list %}{% for i in range(99999) %}{{ x == x[:] }}{% endfor %}"})
    expect_failure(source);
}

/// The steps that a template takes, whether it ends well or not.
std::uint64_t steps_of(std::string_view source) {
  const auto compiled = jinja::Template::compile(source);
  EXPECT_TRUE(compiled.has_value()) << source;
  constexpr std::uint64_t kGiven = 1'000'000;
  jinja::Budget left{.bytes = std::size_t{64} << 20, .steps = kGiven};
  static_cast<void>(compiled->render(jinja::TemplateInput(), std::tm{}, left));
  return kGiven - left.steps;
}

TEST(TemplateBounds, GroupedDigitsCostWhatTheyAreLong) {
  EXPECT_GT(steps_of("{{ '{:01048576,}'.format(1)|length }}"), 1'048'576U / 64);
  const std::string grouped = test::render_or_error("{{ '{:01048575,}'.format(1) }}");
  ASSERT_EQ(grouped.size(), 1'048'575U);
  EXPECT_TRUE(grouped.starts_with("000,000,") && grouped.ends_with(",000,001"));
  EXPECT_EQ(test::render_or_error("{{ '{:08,}|{:09,}|{:07_x}|{:012,.2f}|{:05,}'.format(1, 1, 10, 1.5, 123456) }}"),
            "0,000,001|0,000,001|00_000a|0,000,001.50|123,456");
  expect_failure("{% for i in range(99) %}{{ '{:01048576,}'.format(1)|length }}{% endfor %}");
}

TEST(TemplateBounds, KeysCostWhatIsLookedAtOfThem) {
  const std::string twice =
      "{% set ns = namespace(x=1) %}{% for i in range(40) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}";
  for (const std::string_view use : {"{{ {ns.x: 1}|length }}", "{{ ns.x in {1: 1} }}", "{{ {1: 1}.get(ns.x) }}",
                                     "{{ [ns.x]|unique|list|length }}", "{{ {1: 1}[ns.x] }}"})
    expect_failure(twice + std::string(use));
  const std::string longest = "{% set x = 'x' * 1048576 %}{% set d = {1: 1} %}";
  EXPECT_GT(steps_of(longest + "{{ d[x] }}"), 1'048'576U / 256);
  EXPECT_GT(steps_of(longest + "{{ x|truncate(1048576) }}"), 1'048'576U / 64);
}

TEST(TemplateBounds, NamesOfALoopCostALookUpEachTime) {
  std::string names;
  for (int i = 0; i < 1000; ++i) names += fmt::format("{{{{ n{} }}}}", i);
  const auto loop = [&](int times) {
    return fmt::format("{{% for i in range({}) %}}{{% if false %}}{}{{% endif %}}{{% endfor %}}", times, names);
  };
  EXPECT_GT(steps_of(loop(100)) - steps_of(loop(0)), 100U * 1000 / 4);
}

TEST(TemplateBounds, AStopEndsIt) {
  std::stop_source stop;
  stop.request_stop();
  const RequestWork work(stop.get_token());
  const auto compiled = jinja::Template::compile("{% for i in range(9999) %}{{ i }}{% endfor %}");
  jinja::Budget left{.bytes = SIZE_MAX, .steps = UINT64_MAX, .work = &work};
  const auto spans = compiled->render(jinja::TemplateInput(), std::tm{}, left);
  ASSERT_FALSE(spans);
  EXPECT_EQ(spans.error().kind, ErrorKind::kStopped);
  EXPECT_LT(UINT64_MAX - left.steps, 5000U);
}

TEST(TemplateBounds, NestingEnds) {
  constexpr int kDeep = 10'000;
  for (const std::string& source : {"{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}",
                                    "{{ " + repeated("[", kDeep) + repeated("]", kDeep) + " }}",
                                    "{{ " + repeated("{1:", kDeep) + "1" + repeated("}", kDeep) + " }}",
                                    "{{ " + repeated("not ", kDeep) + "1 }}",
                                    "{{ " + repeated("-", kDeep) + "1 }}",
                                    "{{ " + repeated("1 if 1 else ", kDeep) + "1 }}",
                                    "{{ 1" + repeated(" + 1", kDeep) + " }}",
                                    "{{ 1" + repeated(" and 1", kDeep) + " }}",
                                    "{{ x" + repeated(".x", kDeep) + " }}",
                                    "{{ x" + repeated("[0]", kDeep) + " }}",
                                    "{{ x" + repeated("()", kDeep) + " }}",
                                    "{{ x" + repeated("|upper", kDeep) + " }}",
                                    "{{ x" + repeated(" is defined", kDeep) + " }}",
                                    "{{ f" + repeated("(f", kDeep) + repeated(")", kDeep) + " }}",
                                    repeated("{% if 1 %}", kDeep) + repeated("{% endif %}", kDeep),
                                    repeated("{% for x in y %}", kDeep) + repeated("{% endfor %}", kDeep),
                                    repeated("{% macro f() %}", kDeep) + repeated("{% endmacro %}", kDeep),
                                    repeated("{% set x %}", kDeep) + repeated("{% endset %}", kDeep),
                                    repeated("{% set x", kDeep),
                                    repeated("{{", kDeep),
                                    repeated("{#", kDeep),
                                    repeated("{% raw %}", kDeep)})
    expect_failure(source);
}

TEST(TemplateBounds, LargeSourcesEnd) {
  // Each of them may compile or not: in time, and without more memory than is given.
  for (const std::string& source :
       {repeated("{% if a %}{% set b = 1 %}{% endif %}", 25'000), repeated("{{ a + b * c }}", 60'000),
        repeated("{{ [", 100'000), repeated("{% for x in y %}{{ loop.index }}{% endfor %}", 20'000),
        repeated("{% macro f(a) %}{{ a }}{{ varargs }}{{ caller }}{% endmacro %}", 15'000)}) {
    in_time(source, [&] { static_cast<void>(jinja::Template::compile(source)); });
  }
  std::string names;
  for (int i = 0; i < 20'000; ++i) names += "{% if a %}{% set n" + std::to_string(i) + " = 1 %}{% endif %}";
  expect_failure(names);
  expect_failure(std::string(jinja::Template::kMaxBytes + 1, 'x'));
}

}  // namespace
}  // namespace octavo
