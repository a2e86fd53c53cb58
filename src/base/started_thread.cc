#include "base/started_thread.h"

#include <exception>
#include <new>

namespace octavo {

Error error_of_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {.message = "out of memory", .kind = ErrorKind::kOutOfMemory};
  } catch (const std::exception& error) {
    return {.message = error.what()};
  } catch (...) {
    return {.message = "an exception without words"};
  }
}

}  // namespace octavo
