// Sums of the four byte products of each lane, w unsigned up to `max_byte`, a signed. Some levels sum in fewer bits, so
// that a sum takes small_sum_quads(max_byte) products at most before small_sum_end adds it to where it began. Here are
// those that add to int32 in one instruction, which take any number. Exact. Included after dot_small.
#pragma once

namespace octavo {
namespace {

using SmallSum = I32;
inline constexpr bool kWordSums = false;  // whether sums have 16 bits, which integer scales can multiply
constexpr int small_sum_quads(int /*max_byte*/) { return 8; }
inline SmallSum small_sum_of(I32 start) { return start; }
template <class Bytes>  // Bytes is a U8, or the address of its four bytes
inline SmallSum add_products(SmallSum sum, U8 w, Bytes a) {
  return dot_small(sum, w, a);
}
inline I32 small_sum_end(SmallSum sum, I32 /*start*/) { return sum; }
/// The form of weight bytes that dot_wide() takes.
inline U8 wide_operand(U8 w) { return w; }
/// Follows each addition to one of `Chains` sums, so that the compiler adds its terms one after another.
template <int Chains>
inline I32 keep_chain(I32 sum) {
  return sum;
}

}  // namespace
}  // namespace octavo
