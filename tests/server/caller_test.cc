// The caller, as far as a request's head tells: addresses and networks, proxies' headers, hosts, traces. Any text may
// come in.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "http/address.h"
#include "http/forwarded.h"
#include "http/host_check.h"
#include "http/listener.h"
#include "server/trace_context.h"

namespace octavo::test {
namespace {

using namespace server;
using ::testing::HasSubstr;

Address address(std::string_view text) { return parse_address(text).value(); }

TEST(Addresses, AnAddressHasOneForm) {
  EXPECT_EQ(address("::ffff:203.0.113.7").to_string(), "203.0.113.7");
  EXPECT_EQ(address("2001:DB8:0:0::1").to_string(), "2001:db8::1");
  EXPECT_EQ(normalized(boost::asio::ip::make_address("fe80::1%1")).to_string(), "fe80::1");
  for (const char* wrong : {"", "1.2.3", "1.2.3.4.5", "1.2.3.4 ", "01.2.3.4", "256.1.1.1", "::1%lo", "[::1]", "::g",
                            "localhost", "1.2.3.4:80", ":::"})
    EXPECT_FALSE(parse_address(wrong)) << wrong;
  EXPECT_FALSE(parse_address(std::string(100'000, '1')));
  EXPECT_FALSE(parse_address(std::string_view("1.2.3.4\0", 8)));
}

TEST(Addresses, AHostOfIpv6CountsByIts64Bits) {
  EXPECT_EQ(client_group(address("203.0.113.7")), "203.0.113.7");
  EXPECT_EQ(client_group(boost::asio::ip::make_address("::ffff:203.0.113.7")), "203.0.113.7");
  EXPECT_EQ(client_group(address("2001:db8:1:2:3:4:5:6")), "2001:db8:1:2::/64");
  EXPECT_EQ(client_key(address("2001:db8:1:2:3:4:5:6")), client_key(address("2001:db8:1:2::9")));
  EXPECT_NE(client_key(address("2001:db8:1:3::1")), client_key(address("2001:db8:1:2::1")));
  EXPECT_NE(client_key(address("203.0.113.7")), client_key(address("203.0.113.8")));
}

TEST(Networks, ContainWhatHasTheirPrefix) {
  const Network ten = Network::parse("10.0.0.0/8").value();
  EXPECT_TRUE(ten.contains(address("10.255.1.2")));
  EXPECT_TRUE(ten.contains(address("::ffff:10.1.2.3")));
  EXPECT_FALSE(ten.contains(address("11.0.0.1")));
  EXPECT_FALSE(ten.contains(address("a00::1")));
  const Network odd = Network::parse("192.0.2.128/25").value();
  EXPECT_TRUE(odd.contains(address("192.0.2.129")));
  EXPECT_FALSE(odd.contains(address("192.0.2.127")));
  EXPECT_TRUE(Network::parse("fd00::/8")->contains(address("fdff::1")));
  EXPECT_TRUE(Network::parse("::1")->contains(address("::1")));
  EXPECT_FALSE(Network::parse("::1")->contains(address("::2")));
  EXPECT_TRUE(Network::parse("::ffff:10.0.0.0/104")->contains(address("10.1.2.3")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains(address("1.2.3.4")));
  EXPECT_FALSE(Network::parse("::/0")->contains(address("1.2.3.4")));
}

TEST(Networks, AWrongOneIsNamedWithWhatIsExpected) {
  for (const char* wrong : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "lan", "/8", "1/8"})
    EXPECT_FALSE(Network::parse(wrong)) << wrong;
  EXPECT_THAT(Network::parse("10.1.2.3/8").error().message, HasSubstr("expected 10.0.0.0/8"));
  EXPECT_THAT(Network::parse("2001:db8::1/32").error().message, HasSubstr("expected 2001:db8::/32"));
}

TEST(Hosts, AListedNameMayHaveAPortAndAnyCase) {
  const std::vector<std::string> names = {"localhost", "127.0.0.1", "::1", "chat.example"};
  const HostList hosts = HostList::of(names).value();
  for (const char* right :
       {"localhost", "LocalHost:8080", "localhost.", "localhost.:1", "localhost:", "127.0.0.1:65535", "[::1]",
        "[::1]:8080", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "Chat.Example"})
    EXPECT_TRUE(hosts.allows(right)) << right;
  for (const char* wrong : {"",
                            ":",
                            "evil.example",
                            "localhost.evil.example",
                            "evillocalhost",
                            "localhost..",
                            "localhost:x",
                            "localhost:1:2",
                            "localhost:65536",
                            "localhost:-1",
                            "user@localhost",
                            "localhost/",
                            "127.0.0.1.evil.example",
                            "127.1",
                            "2130706433",
                            "0x7f.1",
                            "::1",
                            "[::1",
                            "[127.0.0.1]",
                            "[::1]x",
                            "[::1]:x",
                            "[::2]",
                            " localhost",
                            "localhost,evil.example"})
    EXPECT_FALSE(hosts.allows(wrong)) << wrong;
  EXPECT_FALSE(hosts.allows(std::string_view("localhost\0", 10)));
  EXPECT_FALSE(hosts.allows(std::string(100'000, 'a')));
}

TEST(Hosts, AWholeUrlsAuthorityCountsBesideTheHeader) {
  const std::vector<std::string> names = {"localhost"};
  const HostList hosts = HostList::of(names).value();
  EXPECT_FALSE(find_wrong_host(hosts, "localhost", "/a?b=http://evil.example/"));
  EXPECT_FALSE(find_wrong_host(hosts, "localhost", "http://localhost:80/a"));
  EXPECT_FALSE(find_wrong_host(hosts, std::nullopt, "/"));
  EXPECT_EQ(find_wrong_host(hosts, "localhost", "http://evil.example/a"), "evil.example");
  EXPECT_EQ(find_wrong_host(hosts, "localhost", "http://localhost@evil.example?/"), "localhost@evil.example");
  EXPECT_EQ(find_wrong_host(hosts, "evil.example", "http://localhost/"), "evil.example");
  EXPECT_FALSE(find_wrong_host(HostList(), "evil.example", "http://evil.example/"));
}

TEST(Hosts, AnOptionIsANameWithoutAPortOrAStar) {
  const auto error_of = [](const std::string& name) { return HostList::of(std::vector{name}).error().message; };
  for (const char* wrong : {"", "https://chat.example", "chat.example:80", "[::1]:80", "a b", "*.example"})
    EXPECT_THAT(error_of(wrong), HasSubstr(std::string("found '") + wrong + "', expected the name")) << wrong;
  EXPECT_TRUE(HostList::of(std::vector<std::string>{"*"})->allows("evil.example"));
  EXPECT_TRUE(HostList::of(std::vector<std::string>{"[::1]"})->allows("[::1]:80"));
}

TEST(ListenAddresses, AreAnAddressAndAPort) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:9100")->host, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("[::1]:9100")->host, "::1");
  EXPECT_EQ(parse_listen_address("localhost:0")->port, 0);
  for (const char* wrong :
       {"", "9100", ":9100", "127.0.0.1", "127.0.0.1:", "::1:9100", "[]:1", "a:65536", "[a]:1", "a:1x"})
    EXPECT_THAT(parse_listen_address(wrong).error().message, HasSubstr("such as 127.0.0.1:9100")) << wrong;
}

std::vector<std::string> texts(const Hops& hops) {
  std::vector<std::string> all;
  for (const auto& hop : hops) all.push_back(hop ? hop->to_string() : "?");
  return all;
}

TEST(Forwarded, HopsOfXForwardedFor) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(parse_x_forwarded_for("203.0.113.7, 10.0.0.2")), (Texts{"203.0.113.7", "10.0.0.2"}));
  EXPECT_EQ(texts(parse_x_forwarded_for("203.0.113.7:4711,[2001:db8::1]:80,\t2001:db8::2 ,, ::ffff:1.2.3.4")),
            (Texts{"203.0.113.7", "2001:db8::1", "2001:db8::2", "1.2.3.4"}));
  EXPECT_EQ(texts(parse_x_forwarded_for("unknown, 1.2.3.4:x, [1.2.3.4], 1.2.3.4 5.6.7.8, \"1.2.3.4\"")),
            (Texts{"?", "?", "?", "?", "?"}));
  EXPECT_EQ(texts(parse_x_forwarded_for("")), Texts{});
  EXPECT_EQ(texts(parse_x_forwarded_for(" , ,")), Texts{});
}

TEST(Forwarded, HopsOfForwarded) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(parse_forwarded("for=192.0.2.60;proto=http;by=203.0.113.43, FOR=\"[2001:db8::1]:4711\"")),
            (Texts{"192.0.2.60", "2001:db8::1"}));
  EXPECT_EQ(texts(parse_forwarded("for=\"192.0.2.1:_port\",for=_hidden,for=unknown,proto=http,for=\"a,b;c\\\"d\"")),
            (Texts{"192.0.2.1", "?", "?", "?", "?"}));
  EXPECT_EQ(texts(parse_forwarded(" , ;for=1.2.3.4; ,,")), (Texts{"1.2.3.4"}));
  EXPECT_EQ(texts(parse_forwarded("for=\"2001:db8::1\"")), (Texts{"?"}));  // IPv6 has brackets here
  for (const char* broken : {"for=\"1.2.3.4, for=5.6.7.8", "for", "for=", "=1.2.3.4", "for=1.2.3.4;for=1.2.3.4",
                             "for=[::1]", "for=1.2.3.4 for=5.6.7.8", "for = 1.2.3.4", "for=\"\\", "for=1.2.3.4\x01"})
    EXPECT_EQ(texts(parse_forwarded(broken)), (Texts{"?"})) << broken;
}

class Proxies : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string_view>;

  Proxies() {
    for (const char* network : {"10.0.0.0/8", "fd00::/8"}) proxies_.add(Network::parse(network).value());
  }
  std::string client(std::string_view peer, const Lines& x_forwarded_for, const Lines& forwarded = {}) const {
    return proxies_.find_client(address(peer), x_forwarded_for, forwarded).to_string();
  }

  TrustedProxies proxies_;
};

TEST_F(Proxies, TheClientIsTheLastAddressThatIsNoProxy) {
  EXPECT_EQ(client("10.0.0.1", Lines{"203.0.113.7"}), "203.0.113.7");
  EXPECT_EQ(client("10.0.0.1", Lines{"1.1.1.1, 203.0.113.7, 10.9.9.9"}), "203.0.113.7");
  EXPECT_EQ(client("10.0.0.1", Lines{"1.1.1.1", "203.0.113.7", "10.9.9.9, fd00::2"}), "203.0.113.7");
  EXPECT_EQ(client("10.0.0.1", Lines{"10.3.3.3, 10.2.2.2"}), "10.3.3.3");
  EXPECT_EQ(client("fd00::1", {}, Lines{"for=1.1.1.1, for=\"[2001:db8::7]:5\";proto=https"}), "2001:db8::7");
  EXPECT_EQ(client("10.0.0.1", {}), "10.0.0.1");
}

TEST_F(Proxies, AnybodyElsesHeadersDoNotCount) {
  EXPECT_EQ(client("198.51.100.1", Lines{"203.0.113.7"}), "198.51.100.1");
  EXPECT_EQ(client("198.51.100.1", {}, Lines{"for=203.0.113.7"}), "198.51.100.1");
  EXPECT_EQ(TrustedProxies().find_client(address("10.0.0.1"), Lines{"203.0.113.7"}, {}).to_string(), "10.0.0.1");
}

TEST_F(Proxies, WhatCannotBeTrustedFallsBackToTheSocketsAddress) {
  EXPECT_EQ(client("10.0.0.1", Lines{"garbage"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", Lines{"203.0.113.7, garbage, 10.0.0.2"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", Lines{"garbage, 203.0.113.7"}), "203.0.113.7");  // written by the proxy
  // A line that the client began hides nothing that the proxy writes behind it.
  EXPECT_EQ(client("10.0.0.1", {}, Lines{"for=\"", "for=203.0.113.7"}), "203.0.113.7");
  // One of the two headers is the client's.
  EXPECT_EQ(client("10.0.0.1", Lines{"203.0.113.7"}, Lines{"for=1.1.1.1"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", Lines{"203.0.113.7"}, Lines{"for=\""}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", Lines{"203.0.113.7"}, Lines{"for=203.0.113.7"}), "203.0.113.7");
}

TEST_F(Proxies, LongListsAreBounded) {
  std::string many = "203.0.113.7";
  for (std::size_t i = 1; i < kMaxForwardedHops; ++i) many += ",10.0.0.2";
  EXPECT_EQ(client("10.0.0.1", Lines{many}), "203.0.113.7");
  EXPECT_EQ(client("10.0.0.1", Lines{many + ",10.0.0.2"}), "10.0.0.1");
  std::string huge;
  while (huge.size() < 1'000'000) huge += "10.0.0.2,";
  EXPECT_LE(parse_x_forwarded_for(huge).size(), kMaxForwardedHops + 1);
  EXPECT_EQ(client("10.0.0.1", Lines{huge}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", Lines{huge + "203.0.113.7"}), "203.0.113.7");
  EXPECT_EQ(client("10.0.0.1", {}, Lines{"for=203.0.113.7;x=\"" + std::string(1'000'000, 'x') + "\""}), "10.0.0.1");
}

/// Pieces of what the parsers look for, in any order.
rc::Gen<std::string> hostile_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
                          rc::gen::elementOf(std::vector<std::string>{"for=",        "by=",
                                                                      ";",           ",",
                                                                      "\"",          "\\",
                                                                      "[",           "]",
                                                                      ":",           "1.2.3.4",
                                                                      "10.0.0.2",    "::1",
                                                                      "2001:db8::1", "_x",
                                                                      "unknown",     " ",
                                                                      "\t",          "80",
                                                                      "localhost",   ".",
                                                                      "00-",         "ff",
                                                                      "://",         "@",
                                                                      "/",           std::string(1, '\0')}),
                          rc::gen::arbitrary<std::string>())),
                      [](const std::vector<std::string>& parts) {
                        std::string text;
                        for (const std::string& part : parts) text += part;
                        return text;
                      });
}

RC_GTEST_FIXTURE_PROP(Proxies, AnyTextBehindATrustedEntryLeavesThatEntry, ()) {
  const std::string text = *hostile_text();
  const std::string line = text + ",203.0.113.7";
  RC_ASSERT(client("10.0.0.1", Lines{line}) == "203.0.113.7");
  RC_ASSERT(client("10.0.0.1", {}, Lines{text, "for=203.0.113.7"}) == "203.0.113.7");
  RC_ASSERT(client("198.51.100.1", Lines{text}, Lines{text}) == "198.51.100.1");
}

RC_GTEST_PROP(Forwarded, EveryAddressCanBeWrittenAndReadBack, (const std::array<unsigned char, 16>& bytes)) {
  const Address v6 = normalized(boost::asio::ip::address_v6(bytes));
  const Address v4 = boost::asio::ip::address_v4({bytes[0], bytes[1], bytes[2], bytes[3]});
  for (const Address& a : {v4, v6}) {
    const std::string text = a.to_string();
    const std::string node = a.is_v6() ? "[" + text + "]" : text;
    RC_ASSERT(parse_address(text) == a);
    RC_ASSERT(parse_x_forwarded_for(text) == Hops{a});
    RC_ASSERT(parse_x_forwarded_for(node + ":80") == Hops{a});
    RC_ASSERT(parse_forwarded("for=\"" + node + ":80\"") == Hops{a});
    RC_ASSERT(parse_host(node + ":80") == text);
    RC_ASSERT(Network::parse(text)->contains(a));
  }
}

RC_GTEST_PROP(Hosts, OnlyAListedNameIsAllowedHoweverItIsWrapped, ()) {
  const std::string text = *hostile_text();
  const std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  const HostList hosts = HostList::of(names).value();
  if (hosts.allows(text)) {
    const std::string name = parse_host(text).value();
    RC_ASSERT(std::ranges::find(names, name) != names.end());
  }
  RC_ASSERT(!hosts.allows("evil.example" + text));
  RC_ASSERT(!hosts.allows(text + ".evil.example"));
}

TEST(TraceContext, IsReadByTheRulesOnly) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736", parent = "00f067aa0ba902b7";
  const auto read = parse_traceparent("00-" + trace + "-" + parent + "-01");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trace_id, trace);
  EXPECT_EQ(read->parent_id, parent);
  EXPECT_TRUE(parse_traceparent("cc-" + trace + "-" + parent + "-01-what-comes-later"));
  const std::string wrong[] = {"",
                               "00",
                               "00-" + trace + "-" + parent + "-01-more",
                               "00-" + trace + "-" + parent + "-01 ",
                               "cc-" + trace + "-" + parent + "-01.more",
                               "ff-" + trace + "-" + parent + "-01",
                               "0g-" + trace + "-" + parent + "-01",
                               "00-" + std::string(32, '0') + "-" + parent + "-01",
                               "00-" + trace + "-" + std::string(16, '0') + "-01",
                               "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01",
                               "00-" + trace + "-" + parent + "-0x",
                               "00_" + trace + "_" + parent + "_01",
                               std::string(55, '-')};
  for (const std::string& text : wrong) EXPECT_FALSE(parse_traceparent(text)) << text;
}

RC_GTEST_PROP(TraceContext, AnyTextGivesHexadecimalIdsOrNone, ()) {
  const auto trace = parse_traceparent(*hostile_text());
  if (trace) RC_ASSERT(trace->trace_id.size() == 32 && trace->parent_id.size() == 16);
}

}  // namespace
}  // namespace octavo::test
