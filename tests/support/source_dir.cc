#include "support/source_dir.h"

namespace octavo::test {

std::string source_dir() { return OCTAVO_SOURCE_DIR; }

}  // namespace octavo::test
