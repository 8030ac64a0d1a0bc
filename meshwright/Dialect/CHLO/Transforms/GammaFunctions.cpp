//===- GammaFunctions.cpp - lgamma, digamma, polygamma, zeta --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// lgamma and digamma use the approximation of Lanczos with g = 7, nine terms,
// for arguments of at least one half, and the reflection formula below. zeta
// uses the Euler-Maclaurin sum with ten terms before the tail.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/SpecialFunctions.h"
#include <cmath>

using namespace mlir;
using namespace mlir::chlo;

static constexpr double kLanczosG = 7;
static constexpr double kLanczosBase = 0.99999999999980993227684700473478;
static constexpr double kLanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};

namespace {
/// The terms both gamma functions share, at z >= -1/2 for gamma(z + 1).
struct Lanczos {
  Expr z;
  Expr series;     ///< c0 + sum of ck / (z + k)
  Expr derivative; ///< sum of ck / (z + k)^2
  Expr t;          ///< z + g + 1/2
  Expr logT;
};
} // namespace

static Lanczos expand(Expr x, Expr needsReflection) {
  Expr z = select(needsReflection, -x, x - 1.0);
  Expr series = x.splat(kLanczosBase), derivative = x.splat(0);
  for (auto [index, coefficient] : llvm::enumerate(kLanczos)) {
    Expr term = z + static_cast<double>(index + 1);
    series = series + coefficient / term;
    derivative = derivative + coefficient / (term * term);
  }
  Expr t = z + (kLanczosG + 0.5);
  Expr logT = log1p(z / (kLanczosG + 0.5)) + std::log(kLanczosG + 0.5);
  return {z, series, derivative, t, logT};
}

Expr mlir::chlo::buildLgamma(Expr x) {
  Expr isReflected = x < 0.5;
  Lanczos terms = expand(x, isReflected);
  // (z + 1/2) log t - t, arranged so that large z do not cancel.
  Expr value = (terms.z + 0.5 - terms.t / terms.logT) * terms.logT +
               0.5 * std::log(2 * kPi) + log(terms.series);

  // gamma(x) gamma(1 - x) = pi / sin(pi x); only the distance to the nearest
  // integer matters for the sine.
  Expr magnitude = abs(x);
  Expr fraction = magnitude - floor(magnitude);
  Expr folded = select(fraction < 0.5, fraction, 1.0 - fraction);
  Expr logSine = log(sine(folded * kPi));
  Expr finite = std::log(kPi) - logSine - value;
  Expr isPole = equal(folded, 0.0);
  Expr reflected = select(isPole, x.splatInfinity(), finite);
  Expr result = select(isReflected, reflected, value);
  return select(equal(magnitude, x.splatInfinity()), x.splatInfinity(), result);
}

Expr mlir::chlo::buildDigamma(Expr x) {
  Expr isReflected = x < 0.5;
  Lanczos terms = expand(x, isReflected);
  Expr value =
      terms.logT - terms.derivative / terms.series - kLanczosG / terms.t;
  // The cotangent has the period one; its argument is kept small.
  Expr shifted = x + abs(floor(x + 0.5));
  Expr angle = shifted * kPi;
  Expr reflected = value - kPi * cosine(angle) / sine(angle);
  Expr result = select(isReflected, reflected, value);
  Expr isPole = (x <= 0.0) & equal(x, floor(x));
  // As from the right at zero; elsewhere neither side comes first.
  Expr pole = select(equal(x, 0.0), -x.splatInfinity(), x.splatNaN());
  return select(isPole, pole, result);
}

Expr mlir::chlo::buildZeta(Expr x, Expr q) {
  constexpr int kTerms = 10;
  // B2k / (2k)! for k = 1 to 12.
  static constexpr double kBernoulli[] = {1.0 / 12,
                                          -1.0 / 720,
                                          1.0 / 30240,
                                          -1.0 / 1209600,
                                          1.0 / 47900160,
                                          -5.2841901386874931848e-10,
                                          1.3382536530684678833e-11,
                                          -3.3896802963225828668e-13,
                                          8.5860620562778445641e-15,
                                          -2.1748686985580618730e-16,
                                          5.5090028283602295153e-18,
                                          -1.3954464685812523340e-19};

  Expr sum = power(q, -x);
  Expr term = sum, base = q;
  for (int k = 1; k < kTerms; ++k) {
    base = base + 1.0;
    term = power(base, -x);
    sum = sum + term;
  }
  base = base + 1.0;
  term = power(base, -x);
  sum = sum + term * base / (x - 1.0) + 0.5 * term;
  // The product x (x + 1) ... / base^(x + 2k + 1), whose factors alone
  // overflow.
  Expr product = x * (term / base);
  for (auto [k, bernoulli] : llvm::enumerate(kBernoulli)) {
    sum = sum + product * bernoulli;
    product = product * ((x + (2.0 * k + 1)) / base);
    product = product * ((x + (2.0 * k + 2)) / base);
  }

  Expr nan = x.splatNaN(), infinity = x.splatInfinity();
  // A negative base has a real power only for integers.
  Expr isUndefined = (x < 1.0) | ((q < 0.0) & notEqual(x, floor(x)));
  Expr result = select(isUndefined, nan, sum);
  Expr isPole = (q <= 0.0) & equal(q, floor(q));
  Expr isEvenPower = equal(x - floor(x * 0.5) * 2.0, 0.0);
  result = select(isPole, select(isEvenPower, infinity, nan), result);
  return select(equal(x, 1.0), infinity, result);
}

Expr mlir::chlo::buildPolygamma(Expr n, Expr x) {
  Expr order = n + 1.0;
  Expr isEven = equal(n, floor(n * 0.5) * 2.0);
  Expr signOfOrder = select(isEven, n.splat(-1), n.splat(1));
  Expr general = signOfOrder * exp(buildLgamma(order)) * buildZeta(order, x);
  Expr result = select(equal(n, 0.0), buildDigamma(x), general);
  Expr isNatural = equal(n, floor(n)) & (0.0 <= n);
  return select(isNatural, result, x.splatNaN());
}
