#include "gpu/ptx_text.h"

#include <algorithm>

namespace octavo::gpu {

std::string ptx_of_kernels(std::string_view ptx, std::span<const std::string_view> names) {
  constexpr std::string_view kEntry = ".visible .entry ", kEnd = "\n}\n";
  std::string text;
  while (true) {
    const std::size_t begin = ptx.find(kEntry);
    if (begin == std::string_view::npos) break;
    text += ptx.substr(0, begin);
    ptx.remove_prefix(begin);
    const std::string_view name = ptx.substr(kEntry.size(), ptx.find('(') - kEntry.size());
    const std::size_t end = std::min(ptx.find(kEnd), ptx.size() - kEnd.size()) + kEnd.size();
    if (std::ranges::find(names, name) != names.end()) text += ptx.substr(0, end);
    ptx.remove_prefix(end);
  }
  return text.append(ptx);
}

}  // namespace octavo::gpu
