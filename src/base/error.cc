#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace octavo {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  fmt::print(stderr, "octavo: internal error: {}:{}: {} {}\n", file, line, condition, message);
  std::abort();
}

}  // namespace octavo
