// Whether an address of the network is one that anybody on the internet can be reached at, or leads inward: to this
// machine, to its network, or to nowhere. Whoever is told by a client what to connect to asks this of the very address
// that it is about to connect to.
//
// A free function without state; any thread.
#pragma once

#include "http/address.h"

namespace octavo {

/// By the registries of special addresses of IANA. An IPv4 address within IPv6 is judged as what it leads to where that
/// is certain (::ffff:0:0/96, NAT64's 64:ff9b::/96); tunnels (6to4, Teredo) are not public.
bool is_public(const Address& address);

}  // namespace octavo
