// What a connection is doing, which decides whether it keeps its place when places run out. A constant; any thread.
#pragma once

#include <cstdint>

namespace octavo {

enum class ConnectionStanding : std::uint8_t {
  kSilent,      // no request is read on it or answered, or its client has been silent within one for too long
  kUnfinished,  // it waits for its client to send the rest of a request, or to take an answer that is complete
  kBusy,        // a request is being answered
};

}  // namespace octavo
