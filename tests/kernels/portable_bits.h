// The bits that all levels and machines have: results of portable kernels are compared with hashes in the tree, so that
// machines that are never side by side agree.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "kernels/kernel_test.h"
#include "kernels/portable_hashes.h"

namespace octavo {

/// Numbers around 0 with a deviation of 1, the same on every machine: std::normal_distribution is the C library's.
inline float bell(std::mt19937& random) {
  std::int32_t sum = -6 * 65535;
  for (int i = 0; i < 12; ++i) sum += static_cast<std::int32_t>(random() >> 16);
  return static_cast<float>(sum) / 65536;
}

/// FNV-1a over the numbers' bytes, which have one order on all machines that the kernels are for.
template <class Number>
std::uint64_t hash_of_numbers(std::span<const Number> numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Number& number : numbers) {
    unsigned char bytes[sizeof(Number)];
    std::memcpy(bytes, &number, sizeof number);
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  }
  return hash;
}

/// Checks finite results against the hash of that name in portable_hashes.h.
template <class Number>
void expect_portable(const std::string& name, std::span<const Number> numbers) {
  for (const Number& number : numbers) ASSERT_TRUE(std::isfinite(number)) << name;
  const std::uint64_t found = hash_of_numbers(numbers);
  for (const PortableHash& known : kPortableHashes)
    if (known.name == name) {
      EXPECT_EQ(known.hash, found) << name;
      return;
    }
  ADD_FAILURE() << "no hash of that name, expected:\n    {\"" << name << "\", 0x" << std::hex << found << "},";
}

/// A test case per level; its kernels are the portable ones.
class PortableTest : public KernelTest {
 protected:
  const KernelTable& kernels() const { return *kernels_of_level(GetParam(), Bits::kPortable); }

  std::vector<float> bells(std::size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = bell(random);
    return values;
  }
};

}  // namespace octavo
