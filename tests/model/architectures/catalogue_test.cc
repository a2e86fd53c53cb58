#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/architectures.h"
#include "support/source_dir.h"

namespace octavo::test {
namespace {

std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream in(source_dir() + "/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// tools/catalogue.py writes the page; it reads the names out of the table's source.
TEST(Catalogue, ThePageCountsTheModelsWhoseArchitectureIsSupported) {
  int all = 0, supported = 0, hot = 0, supported_hot = 0;
  for (const std::string& line : lines_of("tests/data/catalogue.tsv")) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    ASSERT_NE(second, std::string::npos) << line;
    const bool is_found = find_architecture(line.substr(first + 1, second - first - 1)) != nullptr;
    const bool is_hot = line.ends_with("hot");
    ++all;
    supported += is_found ? 1 : 0;
    hot += is_hot ? 1 : 0;
    supported_hot += is_hot && is_found ? 1 : 0;
  }
  EXPECT_EQ(all, 260);
  EXPECT_THAT(lines_of("docs/supported.md"),
              testing::Contains(testing::StartsWith(fmt::format("{} of {} models, {} of the {} that are asked for most",
                                                                supported, all, supported_hot, hot))));
}

TEST(Catalogue, TheRefusalNamesTheLineAtWhichANewArchitectureBegins) {
  EXPECT_EQ(lines_of("docs/adding_a_model.md").at(kFirstLineOfGuide - 1), "## 1. A function that reads its keys");
}

}  // namespace
}  // namespace octavo::test
