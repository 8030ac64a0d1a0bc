//===- SpecialFunctions.h - Special functions as arithmetic -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_SPECIALFUNCTIONS_H
#define MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_SPECIALFUNCTIONS_H

#include "meshwright/Dialect/CHLO/Transforms/Expression.h"

namespace mlir::chlo {

inline constexpr double kPi = 3.14159265358979323846;

// Real functions of f32 and f64.
Expr buildBesselI1e(Expr x);
Expr buildDigamma(Expr x);
Expr buildErf(Expr x);
Expr buildErfInv(Expr x);
Expr buildErfc(Expr x);
Expr buildLgamma(Expr x);
/// The derivative of order n of digamma; NaN unless n is a natural number.
Expr buildPolygamma(Expr n, Expr x);
/// Hurwitz zeta, the sum of (q + k)^-x.
Expr buildZeta(Expr x, Expr q);

// Real and complex functions.
Expr buildAcos(Expr x);
Expr buildAcosh(Expr x);
Expr buildAsin(Expr x);
Expr buildAsinh(Expr x);
Expr buildAtan(Expr x);
Expr buildAtanh(Expr x);
Expr buildCosh(Expr x);
Expr buildSinh(Expr x);
Expr buildSquare(Expr x);

/// What complex asin and acos share: for z = x + iy, with r and s its distances
/// to -1 and 1 and a = (r + s) / 2, the number
/// sqrt((a + |x|)(a - |x|)) + i log(a + sqrt(a^2 - 1)).
Expr buildAsinAcosKernel(Expr z);

} // namespace mlir::chlo

#endif
