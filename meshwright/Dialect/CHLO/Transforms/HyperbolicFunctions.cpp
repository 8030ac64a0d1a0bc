//===- HyperbolicFunctions.cpp - Inverse trigonometry and hyperbolics -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The complex inverse functions all rest on one kernel, after T. Hull, T.
// Fairgrieve and P. Tang, "Implementing the complex arcsine and arccosine
// functions using exception handling" (1997):
//
//   asin z = atan2(x, Re k) + i sign(y) Im k      acos z = atan2(Re k, x) - ...
//   asinh z = -i asin(iz)                         acosh z = +-i acos z
//   atan z = -i atanh(iz)
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/SpecialFunctions.h"
#include <cmath>

using namespace mlir;
using namespace mlir::chlo;

static bool isComplex(Expr x) { return isa<ComplexType>(x.getElementType()); }

/// 1 or -1, never 0, so that values on a branch cut keep their side.
static Expr signOrOne(Expr x) {
  return select(x < 0.0, x.splat(-1), x.splat(1));
}

/// sqrt(x^2 + y^2) without overflow, for x, y >= 0.
static Expr hypotenuse(Expr x, Expr y) {
  Expr large = maximum(x, y), small = minimum(x, y);
  Expr ratio = small / large;
  Expr value = large * sqrt(1.0 + ratio * ratio);
  return select(equal(small, 0.0) | equal(large, large.splatInfinity()), large,
                value);
}

static Expr isInfinite(Expr x) { return equal(abs(x), x.splatInfinity()); }

Expr mlir::chlo::buildAsinAcosKernel(Expr z) {
  Expr x = abs(real(z)), y = abs(imag(z));
  Expr r = hypotenuse(x + 1.0, y), s = hypotenuse(abs(x - 1.0), y);
  Expr a = 0.5 * (r + s);
  // a - 1 and a - x as sums of small terms of one sign. Where a term has the
  // factor y^2, which may underflow, the roots are taken one by one.
  Expr left = y / (r + (x + 1.0));
  Expr beyond = s + (x - 1.0);
  Expr before = s + (1.0 - x);
  Expr inside = x < 1.0, outside = 1.0 < x, rootOfY = sqrt(y);
  Expr halfInside = 0.5 * (left + y / before);
  Expr aMinusOne = select(inside, y * halfInside, 0.5 * (y * left + beyond));
  Expr root = select(inside, rootOfY * sqrt(halfInside * (a + 1.0)),
                     sqrt(aMinusOne * (a + 1.0)));
  Expr im = log1p(aMinusOne + root);
  Expr re =
      select(outside, rootOfY * sqrt((a + x) * (0.5 * (left + y / beyond))),
             // Halved before, the smallest y would be lost.
             sqrt((0.5 * (a + x)) * (y * left + before)));

  // Squares overflow far from the origin, where the functions are simple.
  Expr limit = sqrt(x.splatLargest()) / 8.0;
  Expr large = maximum(x, y), small = minimum(x, y);
  Expr isFar = limit < large;
  Expr ratio = select(isFar & notEqual(large, x.splatInfinity()), small / large,
                      x.splat(0));
  Expr farIm = std::log(2.0) + log(large) + 0.5 * log1p(ratio * ratio);
  im = select(isFar, farIm, im);
  // Also beside NaN.
  im = select(isInfinite(x) | isInfinite(y), x.splatInfinity(), im);
  return complex(select(isFar, y, re), im);
}

Expr mlir::chlo::buildAsin(Expr x) {
  if (!isComplex(x))
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)));
  Expr kernel = buildAsinAcosKernel(x);
  return complex(atan2(real(x), real(kernel)),
                 signOrOne(imag(x)) * imag(kernel));
}

Expr mlir::chlo::buildAcos(Expr x) {
  if (!isComplex(x)) {
    // The quotient form is 0 / 0 at -1 only.
    Expr inside = 2.0 * atan2(sqrt((1.0 - x) * (1.0 + x)), 1.0 + x);
    return select(equal(x, -1.0), x.splat(kPi), inside);
  }
  Expr kernel = buildAsinAcosKernel(x);
  return complex(atan2(real(kernel), real(x)),
                 -(signOrOne(imag(x)) * imag(kernel)));
}

Expr mlir::chlo::buildAsinh(Expr x) {
  if (isComplex(x)) {
    // asinh(x + iy) = i asin(y - ix), with real and imaginary part exchanged.
    Expr rotated = buildAsin(complex(imag(x), real(x)));
    return complex(imag(rotated), real(rotated));
  }
  Expr magnitude = abs(x);
  Expr isFar = sqrt(x.splatLargest()) <= magnitude;
  Expr safe = select(isFar, x.splat(1), magnitude);
  Expr root = sqrt(safe * safe + 1.0);
  Expr near = log1p(safe + safe * safe / (1.0 + root));
  Expr far = log(magnitude) + std::log(2.0);
  Expr value = sign(x) * select(isFar, far, near);
  return select(equal(magnitude, x.splatInfinity()), x, value);
}

Expr mlir::chlo::buildAcosh(Expr x) {
  if (isComplex(x)) {
    Expr kernel = buildAsinAcosKernel(x);
    return complex(imag(kernel),
                   signOrOne(imag(x)) * atan2(real(kernel), real(x)));
  }
  Expr far = log(x) + std::log(2.0);
  Expr below = x - 1.0;
  Expr near = log1p(below + sqrt(below * (x + 1.0)));
  Expr value = select(sqrt(x.splatLargest()) <= x, far, near);
  return select(x < 1.0, x.splatNaN(), value);
}

Expr mlir::chlo::buildAtanh(Expr x) {
  if (!isComplex(x))
    return 0.5 * (log1p(x) - log1p(-x));
  // With x and y not negative, and in every quadrant by symmetry,
  //
  //   Re atanh = log(1 + 4x / d) / 4,  d = (1 - x)^2 + y^2
  //   Im atanh = atan2(2y, 1 - x^2 - y^2) / 2
  Expr re = abs(real(x)), im = abs(imag(x));
  Expr zero = re.splat(0);
  Expr below = abs(1.0 - re);
  Expr large = maximum(below, im), small = minimum(below, im);
  Expr ratio = select(equal(large, 0.0), zero, small / large);
  // A quotient of a quotient would be merged, and its denominator overflow.
  Expr inverse = 1.0 / (large * (1.0 + ratio * ratio));
  Expr quotient = 4.0 * (re / large) * inverse;
  Expr outRe = 0.25 * log1p(quotient);
  // Close to the pole at 1, d underflows.
  Expr isClose = equal(re, 1.0) & (im < 1e-4);
  outRe = select(isClose, 0.5 * (std::log(2.0) - log(im)), outRe);
  // On the branch cuts, the sign of the zero tells the side.
  Expr outIm = 0.5 * atan2(imag(x), 0.5 * ((1.0 - re) * (1.0 + re) - im * im));
  Expr isFar = isInfinite(re) | isInfinite(im);
  outRe = select(isFar, zero, outRe);
  outIm = select(isInfinite(im), (kPi / 2) * signOrOne(imag(x)), outIm);
  return complex(signOrOne(real(x)) * outRe, outIm);
}

Expr mlir::chlo::buildAtan(Expr x) {
  if (!isComplex(x))
    return atan2(x, x.splat(1));
  // atan(x + iy) = i atanh(y - ix) with the parts exchanged, and -y for y.
  Expr rotated = buildAtanh(complex(-imag(x), real(x)));
  return complex(imag(rotated), -real(rotated));
}

/// (exp(x) + exp(-x)) / 2 for reals; halving the exponent's argument first
/// keeps the largest results finite.
static Expr realCosh(Expr x) {
  Expr halfLog = x.splat(std::log(0.5));
  return exp(x + halfLog) + exp(halfLog - x);
}

static Expr realSinh(Expr x) {
  Expr halfLog = x.splat(std::log(0.5));
  Expr far = exp(x + halfLog) - exp(halfLog - x);
  Expr grown = expm1(x);
  Expr near = 0.5 * (grown + grown / (grown + 1.0));
  return select(abs(x) < 1.0, near, far);
}

/// The product of cosh(x) or sinh(x), as `grown`, with a sine or cosine, which
/// may be finite where the first factor is not.
static Expr scaleGrowth(Expr x, Expr grown, Expr wave, Expr sign) {
  Expr half = exp(0.5 * abs(x));
  Expr far = sign * (((0.5 * half) * wave) * half);
  bool isDouble = x.getElementType().isF64();
  return select(abs(x) < (isDouble ? 709.0 : 88.0), grown * wave, far);
}

/// Both factors of the real and of the imaginary part.
static Expr growAndTurn(Expr z, Expr (*realPart)(Expr), Expr (*imagPart)(Expr),
                        Expr realSign, Expr imagSign) {
  Expr x = real(z), y = imag(z);
  Expr re = scaleGrowth(x, realPart(x), cosine(y), realSign);
  Expr im = scaleGrowth(x, imagPart(x), sine(y), imagSign);
  // On the real axis, even at infinity.
  return complex(re, select(equal(y, 0.0), imagSign * y, im));
}

Expr mlir::chlo::buildCosh(Expr x) {
  if (!isComplex(x))
    return realCosh(x);
  Expr side = signOrOne(real(x));
  return growAndTurn(x, realCosh, realSinh, side.splat(1), side);
}

Expr mlir::chlo::buildSinh(Expr x) {
  if (!isComplex(x))
    return realSinh(x);
  Expr side = signOrOne(real(x));
  return growAndTurn(x, realSinh, realCosh, side, side.splat(1));
}

Expr mlir::chlo::buildSquare(Expr x) {
  if (!isComplex(x))
    return x * x;
  Expr re = real(x), im = imag(x);
  Expr product = re * im;
  // The difference of two squares would lose digits. Its factors may be zero
  // and infinity.
  Expr difference = abs(re) - abs(im);
  Expr isZero = equal(difference, 0.0);
  return complex(select(isZero, difference, (re - im) * (re + im)),
                 product + product);
}
