#include "toolcalls/mark_finder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace octavo {
namespace {

RC_GTEST_PROP(MarkFinder, FindsWhatASearchInTheWholeTextFinds, ()) {
  const auto mark = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b')));
  RC_PRE(mark.size() <= MarkFinder::kMaxMarkBytes);
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  const std::array<std::string_view, 1> marks = {mark};
  MarkFinder finder(marks);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view read = std::string_view(text).substr(begin, i + 1 - begin);
    const bool found = finder.push(text[i]) == 0;
    RC_ASSERT(found == read.ends_with(mark));
    if (found) {
      begin = i + 1;
      continue;
    }
    std::size_t longest = std::min(read.size(), mark.size());
    while (!read.ends_with(mark.substr(0, longest))) --longest;
    RC_ASSERT(finder.held() == longest);
  }
}

TEST(MarkFinder, TellsSeveralApart) {
  const std::array<std::string_view, 3> marks = {"<a>", "<ab>", "b>c"};
  MarkFinder finder(marks);
  std::vector<int> found;
  for (const char c : std::string_view("<ab>c<a>")) found.push_back(finder.push(c));
  EXPECT_EQ(found, (std::vector<int>{-1, -1, -1, 1, -1, -1, -1, 0}));
}

}  // namespace
}  // namespace octavo
