// Whether an address of the network can be reached by anybody on the internet, or leads inward: to this machine, to its
// network, or to nowhere. It is asked about the very address to which the server is about to connect where a client has
// named the host.
//
// A free function without state; any thread.
#pragma once

#include "http/address.h"

namespace octavo {

/// Decides by IANA's registries of special addresses. An IPv4 address within IPv6 is judged as the address to which it
/// leads, where that is certain (::ffff:0:0/96, NAT64's 64:ff9b::/96); tunnels (6to4, Teredo) are not public.
bool is_public(const Address& address);

}  // namespace octavo
