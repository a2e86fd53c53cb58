#include "cli/bench/bench_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/to_size.h"
#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

constexpr double kWidth = 640, kPanelHeight = 300, kLeft = 70, kRight = 150, kTop = 50, kBottom = 45, kTitle = 40;
constexpr std::array<std::string_view, 6> kColours = {"#0b6e99", "#d9730d", "#0f7b6c", "#ad1a72", "#6940a5", "#64473a"};

struct Point {
  int x = 0;
  double y = 0;  // in tokens/s
};

/// The panel of a test, with its curves by name. x is spaced evenly, in ascending order.
struct Panel {
  std::string title, x_name;
  std::map<std::string, std::vector<Point>> curves;
  std::vector<int> xs;
  double highest = 0;
};

/// A property of rows that may vary within a test.
struct Dimension {
  std::string_view name;
  int (*of)(const BenchCase&);
};
constexpr std::array<Dimension, 3> kDimensions = {{
    {"tokens", [](const BenchCase& c) { return c.is_prefill ? c.prompt : c.gen; }},
    {"sequences", [](const BenchCase& c) { return c.batch; }},
    {"depth", [](const BenchCase& c) { return c.depth; }},
}};

Panel make_panel(const BenchReport& report, std::string_view test) {
  std::array<std::set<int>, kDimensions.size()> values;
  for (const BenchRow& row : report.rows)
    if (row.c.name() == test)
      for (std::size_t d = 0; d < kDimensions.size(); ++d) values[d].insert(kDimensions[d].of(row.c));
  const auto x =
      to_size(std::ranges::max_element(values, {}, [](const std::set<int>& s) { return s.size(); }) - values.begin());
  Panel panel{.title = fmt::format("{}, tokens/s", test),
              .x_name = std::string(kDimensions[x].name),
              .curves = {},
              .xs = {values[x].begin(), values[x].end()}};
  for (const BenchRow& row : report.rows) {
    if (row.c.name() != test) continue;
    std::string name;
    for (std::size_t d = 0; d < kDimensions.size(); ++d)
      if (d != x && values[d].size() > 1)
        name += fmt::format("{}{} {}", name.empty() ? "" : ", ", kDimensions[d].name, kDimensions[d].of(row.c));
    const double rate = figures_of(row, report.machine).tokens_per_s;
    panel.curves[name].push_back({kDimensions[x].of(row.c), rate});
    panel.highest = std::max(panel.highest, rate);
  }
  for (auto& [name, points] : panel.curves) std::ranges::sort(points, {}, &Point::x);
  return panel;
}

/// The least number not below x that is 1, 2, 2.5, 5 or 10 times a power of ten.
double round_up(double x) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(x, 1e-9))));
  for (const double step : {1.0, 2.0, 2.5, 5.0})
    if (step * power >= x) return step * power;
  return 10 * power;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

class Drawing {
 public:
  Drawing(const Panel& panel, double top) : panel_(panel), top_(top), scale_(round_up(panel.highest)) {}

  std::string draw() const {
    std::string out = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", kLeft,
                                  top_ + kTop - 18, panel_.title);
    for (int i = 0; i <= 4; ++i) {
      const double value = scale_ * i / 4;
      out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kLeft,
                         y_of(value), kWidth - kRight, y_of(value));
      out += text_at(kLeft - 8, y_of(value) + 4, "end", fmt::format("{:g}", value));
    }
    for (const int x : panel_.xs)
      out += text_at(x_of(x), top_ + kPanelHeight - kBottom + 18, "middle", std::to_string(x));
    out += text_at((kLeft + kWidth - kRight) / 2, top_ + kPanelHeight - 8, "middle", panel_.x_name);
    std::size_t colour = 0;
    for (const auto& [name, points] : panel_.curves) out += curve(name, points, kColours[colour++ % kColours.size()]);
    return out;
  }

 private:
  double x_of(int x) const {
    const auto place = static_cast<double>(std::ranges::lower_bound(panel_.xs, x) - panel_.xs.begin());
    return kLeft + (kWidth - kLeft - kRight) * (place + 0.5) / static_cast<double>(panel_.xs.size());
  }
  double y_of(double value) const { return top_ + kTop + (kPanelHeight - kTop - kBottom) * (1 - value / scale_); }

  std::string curve(const std::string& name, const std::vector<Point>& points, std::string_view colour) const {
    std::string path, marks;
    for (const Point& p : points) {
      path += fmt::format("{:.1f},{:.1f} ", x_of(p.x), y_of(p.y));
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", x_of(p.x), y_of(p.y));
      marks += text_at(x_of(p.x), y_of(p.y) - 8, "middle", fmt::format("{:.4g}", p.y));
    }
    return fmt::format(
        "<g fill=\"{0}\"><polyline points=\"{1}\" fill=\"none\" stroke=\"{0}\" stroke-width=\"2\"/>\n{2}{3}</g>\n",
        colour, path, marks, text_at(kWidth - kRight + 10, y_of(points.back().y) + 4, "start", name));
  }

  const Panel& panel_;
  const double top_, scale_;
};

/// A text with XML's characters escaped: names come from a model's file.
std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string to_svg(const BenchReport& report) {
  std::vector<std::string_view> tests;
  for (const BenchRow& row : report.rows)
    if (std::ranges::find(tests, row.c.name()) == tests.end()) tests.push_back(row.c.name());
  std::string panels;
  double top = kTitle;
  for (const std::string_view test : tests) {
    const Panel panel = make_panel(report, test);
    panels += Drawing(panel, top).draw();
    top += kPanelHeight;
  }
  const std::string title = xml_escaped(fmt::format("{} · {}, {} threads, {}", report.model.name, report.machine.cpu,
                                                    report.machine.num_threads, report.machine.isa));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"24\" font-size=\"14\">{3}</text>\n{4}</svg>\n",
      kWidth, top, kLeft, title, panels);
}

}  // namespace octavo::cli
