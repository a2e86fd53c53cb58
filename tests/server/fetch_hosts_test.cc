// The hosts and the addresses that a server may connect to for a client: which are public, and what a list allows.
#include "http/fetch_hosts.h"

#include <gmock/gmock.h>

#include "http/public_address.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;

Address address(std::string_view text) { return boost::asio::ip::make_address(std::string(text)); }

TEST(PublicAddresses, AreThoseThatTheRegistriesHaveForNothingElse) {
  for (const char* text : {"0.0.0.0",         "0.255.255.255",  "10.0.0.0",        "10.255.255.255", "100.64.0.0",
                           "100.127.255.255", "127.0.0.1",      "127.255.255.255", "169.254.0.0",    "169.254.169.254",
                           "169.254.255.255", "172.16.0.0",     "172.31.255.255",  "192.0.0.0",      "192.0.0.170",
                           "192.0.0.255",     "192.0.2.0",      "192.0.2.255",     "192.88.99.1",    "192.168.0.0",
                           "192.168.255.255", "198.18.0.0",     "198.19.255.255",  "198.51.100.7",   "203.0.113.255",
                           "224.0.0.0",       "224.0.0.251",    "239.255.255.255", "240.0.0.0",      "254.1.2.3",
                           "255.255.255.254", "255.255.255.255"})
    EXPECT_FALSE(is_public(address(text))) << text;
  for (const char* text :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",      "100.63.255.255", "100.128.0.0",     "126.255.255.255",
        "128.0.0.0",       "169.253.255.255", "169.255.0.0",   "172.15.255.255", "172.32.0.0",      "191.255.255.255",
        "192.0.1.0",       "192.0.3.0",       "192.88.98.255", "192.88.100.0",   "192.167.255.255", "192.169.0.0",
        "198.17.255.255",  "198.20.0.0",      "198.51.99.255", "198.51.101.0",   "203.0.112.255",   "203.0.114.0",
        "223.255.255.255", "8.8.8.8"})
    EXPECT_TRUE(is_public(address(text))) << text;
}

TEST(PublicAddresses, OfIpv6AreGlobalOnes) {
  for (const char* text : {"::",
                           "::1",
                           "::2",
                           "::7f00:1",
                           "::8.8.8.8",
                           "64:ff9b:1::808:808",
                           "100::1",
                           "100:0:0:1::1",
                           "1fff:ffff::1",
                           "2001::1",
                           "2001:0:7f00:1::1",
                           "2001:2::1",
                           "2001:10::1",
                           "2001:20::1",
                           "2001:1ff:ffff::1",
                           "2001:db8::1",
                           "2001:db8:ffff::1",
                           "2002::1",
                           "2002:7f00:1::1",
                           "2002:808:808::1",
                           "3fff::1",
                           "3fff:fff:ffff::1",
                           "4000::1",
                           "5f00::1",
                           "fc00::1",
                           "fdff:ffff::1",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "ff02::1",
                           "ffff::1",
                           "::ffff:0:127.0.0.1"})
    EXPECT_FALSE(is_public(address(text))) << text;
  for (const char* text : {"2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1",
                           "2003::1", "2606:4700::1111", "2a00:1450::1", "3ffe::1", "3fff:1000::1"})
    EXPECT_TRUE(is_public(address(text))) << text;
}

TEST(PublicAddresses, OneOfIpv4WithinIpv6IsWhatItLeadsTo) {
  for (const char* prefix : {"::ffff:", "64:ff9b::"}) {
    EXPECT_TRUE(is_public(address(std::string(prefix) + "8.8.8.8"))) << prefix;
    for (const char* inner : {"127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "224.0.0.1"})
      EXPECT_FALSE(is_public(address(std::string(prefix) + inner))) << prefix << inner;
  }
}

TEST(FetchHosts, ANameIsAllowedAtItsPortAndLeadsToPublicAddresses) {
  const FetchHosts hosts = FetchHosts::parse("example.com, Files.Example.org:8443").value();
  EXPECT_TRUE(hosts.allows_host("example.com", 80));
  EXPECT_TRUE(hosts.allows_host("EXAMPLE.com.", 1234));
  EXPECT_TRUE(hosts.allows_host("files.example.org", 8443));
  EXPECT_FALSE(hosts.allows_host("files.example.org", 443));
  for (const char* other : {"a.example.com", "example.com.evil.org", "xample.com", "", "8.8.8.8", "127.0.0.1", "::1"})
    EXPECT_FALSE(hosts.allows_host(other, 80)) << other;
  EXPECT_TRUE(hosts.allows_address(address("8.8.8.8"), 80));
  EXPECT_FALSE(hosts.allows_address(address("127.0.0.1"), 80));
  EXPECT_FALSE(hosts.allows_address(address("::ffff:10.0.0.1"), 80));
}

TEST(FetchHosts, AnAddressOrANetworkThatIsNamedMayBeLedTo) {
  const FetchHosts hosts = FetchHosts::parse("10.0.0.7:8000,192.168.0.0/16,[fd00::7]:81,fd01::/16,8.8.8.8").value();
  const auto allows = [&hosts](const char* text, std::uint16_t port) {
    EXPECT_EQ(hosts.allows_host(text, port), hosts.allows_address(address(text), port)) << text;
    return hosts.allows_host(text, port);
  };
  EXPECT_TRUE(allows("10.0.0.7", 8000));
  EXPECT_FALSE(allows("10.0.0.7", 8001));
  EXPECT_FALSE(allows("10.0.0.8", 8000));
  EXPECT_TRUE(allows("192.168.3.4", 1));
  EXPECT_TRUE(allows("::ffff:192.168.3.4", 1));
  EXPECT_TRUE(allows("fd00::7", 81));
  EXPECT_FALSE(allows("fd00::7", 80));
  EXPECT_TRUE(allows("fd01:2::9", 80));
  EXPECT_TRUE(allows("8.8.8.8", 80));
  EXPECT_FALSE(hosts.allows_host("9.9.9.9", 80));
  EXPECT_FALSE(hosts.allows_host("example.com", 80));
}

TEST(FetchHosts, PublicIsEveryHostButNoAddressThatLeadsInward) {
  const FetchHosts hosts = FetchHosts::parse("public").value();
  for (const char* host : {"example.com", "localhost", "127.0.0.1", "::1"}) EXPECT_TRUE(hosts.allows_host(host, 80));
  EXPECT_TRUE(hosts.allows_address(address("8.8.8.8"), 80));
  EXPECT_FALSE(hosts.allows_address(address("127.0.0.1"), 80));
  EXPECT_TRUE(FetchHosts::parse("public,127.0.0.1:80").value().allows_address(address("127.0.0.1"), 80));
  EXPECT_FALSE(FetchHosts::parse("public,127.0.0.1:80").value().allows_address(address("127.0.0.1"), 81));
}

TEST(FetchHosts, WhatIsNoHostIsRefused) {
  for (const char* wrong : {"",
                            ",",
                            "public,",
                            "*",
                            "*.example.com",
                            "https://example.com",
                            "example.com/a",
                            "example.com:",
                            ".example.com",
                            "example.com:0",
                            "example.com:65536",
                            "example.com:80x",
                            "[example.com]",
                            "[::1",
                            "[::1]x",
                            "10.0.0.1/8",
                            "10.0.0.0/33",
                            "a b",
                            "user@example.com",
                            "ex\xC3\xA4mple.com"}) {
    const auto hosts = FetchHosts::parse(wrong);
    ASSERT_FALSE(hosts) << wrong;
    EXPECT_THAT(hosts.error().message, HasSubstr("found '")) << wrong;
  }
}

}  // namespace
}  // namespace octavo
