// The hashes of chains of blocks: SipHash-2-4 from OpenSSL.
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/random_bytes.h"
#include "base/to_size.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {
namespace {

struct FreeContext {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MAC_CTX, FreeContext>;

BlockHashKey random_key() {
  std::array<unsigned char, std::tuple_size_v<BlockHashKey>> bytes;
  fill_random(bytes);
  return std::bit_cast<BlockHashKey>(bytes);
}

// It can be copied, as a std::function must be: a copy has a context of its own and the same key.
class SipHasher {
 public:
  SipHasher(Context context, const BlockHashKey& key) : context_(std::move(context)), key_(key) {}
  SipHasher(const SipHasher& other) : context_(EVP_MAC_CTX_dup(other.context_.get())), key_(other.key_) {
    OCTAVO_CHECK(context_ != nullptr, "no copy of a SipHash context");
  }
  SipHasher(SipHasher&&) = default;
  SipHasher& operator=(const SipHasher&) = delete;
  SipHasher& operator=(SipHasher&&) = delete;
  ~SipHasher() = default;

  BlockHash operator()(const BlockHash& parent, std::span<const std::byte> bytes) const {
    std::array<unsigned char, sizeof(BlockHash)> link{}, out{};
    std::memcpy(link.data(), &parent.low, sizeof(parent.low));
    std::memcpy(link.data() + sizeof(parent.low), &parent.high, sizeof(parent.high));
    std::size_t length = 0;
    const bool hashed =
        EVP_MAC_init(context_.get(), reinterpret_cast<const unsigned char*>(key_.data()), key_.size(), nullptr) == 1 &&
        EVP_MAC_update(context_.get(), link.data(), link.size()) == 1 &&
        EVP_MAC_update(context_.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1 &&
        EVP_MAC_final(context_.get(), out.data(), &length, out.size()) == 1;
    OCTAVO_CHECK(hashed && length == out.size(), "SipHash of {} bytes", bytes.size());
    BlockHash hash;
    std::memcpy(&hash.low, out.data(), sizeof(hash.low));
    std::memcpy(&hash.high, out.data() + sizeof(hash.low), sizeof(hash.high));
    return hash;
  }

 private:
  Context context_;
  BlockHashKey key_;
};

}  // namespace

Result<BlockHasher> make_block_hasher(const std::optional<BlockHashKey>& key) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  Context context(mac != nullptr ? EVP_MAC_CTX_new(mac) : nullptr);
  EVP_MAC_free(mac);  // the context keeps its own reference
  if (!context) return fail("OpenSSL offers no SipHash; expected version 3 with its default provider");
  return SipHasher(std::move(context), key ? *key : random_key());
}

BlockHash BlockChain::origin(const BlockHasher& hasher, std::string_view model, std::string_view layout) {
  return hasher(hasher(BlockHash{}, std::as_bytes(std::span(model))), std::as_bytes(std::span(layout)));
}

BlockHash BlockChain::root(const BlockHasher& hasher, std::string_view domain, const BlockHash& origin) {
  return hasher(origin, std::as_bytes(std::span(domain)));
}

BlockHash BlockChain::next(const BlockHasher& hasher, const BlockHash& parent, const RowSource& block) {
  BlockHash hash = hasher(parent, std::as_bytes(block.tokens()));
  block.for_given([&](const GivenRows& given) { hash = hasher(hash, std::as_bytes(std::span(&given, 1))); });
  return hash;
}

void BlockChain::extend(const BlockHasher& hasher, int block_size, const RowSource& rows) {
  const auto size = to_size(block_size);
  for (std::size_t i = hashes_.size(); (i + 1) * size <= rows.size(); ++i)
    hashes_.push_back(next(hasher, parent(i), rows.subspan(i * size, size)));
}

}  // namespace octavo
