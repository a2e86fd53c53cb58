// What a connection has to show for its place, where places run out. A constant; any thread.
#pragma once

#include <cstdint>

namespace octavo {

enum class ConnectionStanding : std::uint8_t {
  kSilent,      // nothing: no request is read on it or answered, or its client has been silent within one for too long
  kUnfinished,  // it waits for its client: the request is not whole, or the answer, which is, is not taken
  kBusy,        // a request is answered
};

}  // namespace octavo
