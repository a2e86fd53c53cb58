// Logarithms, powers, sines and their kin: the C library's, or the project's own.
//
// The C library's results depend on its version, on the architecture and on whether the processor has fused
// multiply-add. The project's own have the same bits everywhere: nothing but additions, multiplications and divisions
// of float64, each rounded once, in one order. Values without state; any thread.
#pragma once

#include <cmath>

#include "octavo/bits.h"

namespace octavo {

/// The project's own functions. Each result differs from the true one by less than the distance between neighbouring
/// float64 (docs/portable_bits.md has the worst case of each); what float64 cannot hold is an infinity or 0, and a NaN
/// stays one.
namespace portable {

double exp(double x);
double exp2(double x);
double log(double x);            // -inf for 0, NaN below it
double log2(double x);           // -inf for 0, NaN below it
double log1p(double x);          // log(1 + x)
double pow(double x, double y);  // x >= 0, below it NaN; the bound holds for results from 2^-64 to 2^64, beyond it is 1
/// The bound holds up to |x| = 2^31; beyond it only so much of the angle's turns counts as float64 can tell.
double sin(double x);
double cos(double x);

}  // namespace portable

/// The functions with one set of bits: those of std, or those of `portable`.
class Math {
 public:
  explicit constexpr Math(Bits bits = Bits::kNative) : is_portable_(bits == Bits::kPortable) {}

  bool is_portable() const { return is_portable_; }
  double exp(double x) const { return is_portable_ ? portable::exp(x) : std::exp(x); }
  double exp2(double x) const { return is_portable_ ? portable::exp2(x) : std::exp2(x); }
  double log(double x) const { return is_portable_ ? portable::log(x) : std::log(x); }
  double log2(double x) const { return is_portable_ ? portable::log2(x) : std::log2(x); }
  double log1p(double x) const { return is_portable_ ? portable::log1p(x) : std::log1p(x); }
  double pow(double x, double y) const { return is_portable_ ? portable::pow(x, y) : std::pow(x, y); }
  double sin(double x) const { return is_portable_ ? portable::sin(x) : std::sin(x); }
  double cos(double x) const { return is_portable_ ? portable::cos(x) : std::cos(x); }
  float exp(float x) const { return is_portable_ ? static_cast<float>(portable::exp(x)) : std::exp(x); }
  float log(float x) const { return is_portable_ ? static_cast<float>(portable::log(x)) : std::log(x); }

 private:
  bool is_portable_;
};

}  // namespace octavo
