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

Expr mlir::chlo::buildAsinAcosKernel(Expr z) {
  Expr x = abs(real(z)), y = abs(imag(z));
  Expr r = hypotenuse(x + 1.0, y), s = hypotenuse(abs(x - 1.0), y);
  Expr a = 0.5 * (r + s);
  // a - 1 and a - x as sums of small terms of one sign.
  Expr left = y * y / (r + (x + 1.0));
  Expr beyond = s + (x - 1.0);
  Expr before = s + (1.0 - x);
  Expr right = select(x < 1.0, y * y / before, beyond);
  Expr aMinusOne = 0.5 * (left + right);
  Expr alike = select(x <= 1.0, before, y * y / beyond);
  Expr zero = x.splat(0);
  // On the real axis at 1 both quotients are 0 / 0.
  Expr isOnAxis = equal(y, 0.0);
  aMinusOne = select(isOnAxis, maximum(x - 1.0, zero), aMinusOne);
  Expr aMinusX = select(isOnAxis, maximum(1.0 - x, zero), 0.5 * (left + alike));
  Expr re = sqrt((a + x) * aMinusX);
  Expr im = log1p(aMinusOne + sqrt(aMinusOne * (a + 1.0)));

  // Squares overflow far from the origin, where the functions are simple.
  Expr limit = sqrt(x.splatLargest()) / 8.0;
  Expr large = maximum(x, y), small = minimum(x, y);
  Expr isFar = limit < large;
  Expr ratio = select(isFar, small / large, zero);
  Expr farIm = std::log(2.0) + log(large) + 0.5 * log1p(ratio * ratio);
  return complex(select(isFar, y, re), select(isFar, farIm, im));
}

Expr mlir::chlo::buildAsin(Expr x) {
  if (!isComplex(x))
    return 2.0 * atan2(x, 1.0 + sqrt((1.0 - x) * (1.0 + x)));
  Expr kernel = buildAsinAcosKernel(x);
  return complex(atan2(real(x), real(kernel)),
                 signOrOne(imag(x)) * imag(kernel));
}

Expr mlir::chlo::buildAcos(Expr x) {
  if (!isComplex(x)) {
    // The quotient form is 0 / 0 at -1 only.
    Expr inside = 2.0 * atan2(sqrt((1.0 - x) * (1.0 + x)), 1.0 + x);
    return select(equal(x, -1.0), x.splat(3.14159265358979323846), inside);
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
  return select(sqrt(x.splatLargest()) <= x, far, near);
}

Expr mlir::chlo::buildAtanh(Expr x) {
  if (!isComplex(x))
    return 0.5 * (log1p(x) - log1p(-x));
  Expr re = real(x), im = imag(x);
  Expr square = im * im;
  Expr distance = (1.0 - re) * (1.0 - re) + square;
  Expr outRe = 0.25 * log1p(4.0 * re / distance);
  Expr outIm = 0.5 * atan2(2.0 * im, (1.0 - re) * (1.0 + re) - square);
  // The squares overflow where atanh z is close to +-i pi/2 + 1/z.
  Expr limit = sqrt(re.splatLargest()) / 8.0;
  Expr isFar = (limit < abs(re)) | (limit < abs(im));
  Expr half = re.splat(3.14159265358979323846 / 2);
  outRe = select(isFar, re.splat(0), outRe);
  outIm = select(isFar, signOrOne(im) * half, outIm);
  return complex(outRe, outIm);
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

Expr mlir::chlo::buildCosh(Expr x) {
  if (!isComplex(x))
    return realCosh(x);
  Expr re = real(x), im = imag(x);
  return complex(realCosh(re) * cosine(im), realSinh(re) * sine(im));
}

Expr mlir::chlo::buildSinh(Expr x) {
  if (!isComplex(x))
    return realSinh(x);
  Expr re = real(x), im = imag(x);
  return complex(realSinh(re) * cosine(im), realCosh(re) * sine(im));
}
