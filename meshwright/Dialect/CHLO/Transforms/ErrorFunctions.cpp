//===- ErrorFunctions.cpp - erf, erfc, erf_inv, bessel_i1e ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// erf and erfc are the rational approximations of the Cephes library, one
// below 1, two above. erf_inv starts from the approximation of M. Giles,
// "Approximating the erfinv function" (2010), good to single precision, and
// takes two steps of Halley's method for double. bessel_i1e sums Chebyshev
// series whose coefficients were computed with 60 digits from the definition.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/SpecialFunctions.h"
#include <cmath>

using namespace mlir;
using namespace mlir::chlo;

static constexpr double kErfNumerator[] = {
    9.60497373987051638749e0, 9.00260197203842689217e1,
    2.23200534594684319226e3, 7.00332514112805075473e3,
    5.55923013010394962768e4};
static constexpr double kErfDenominator[] = {1.0,
                                             3.35617141647503099647e1,
                                             5.21357949780152679795e2,
                                             4.59432382970980127987e3,
                                             2.26290000613890934246e4,
                                             4.92673942608635921086e4};
// erfc on [1, 8).
static constexpr double kErfcNumerator[] = {
    2.46196981473530512524e-10, 5.64189564831068821977e-1,
    7.46321056442269912687e0,   4.86371970985681366614e1,
    1.96520832956077098242e2,   5.26445194995477358631e2,
    9.34528527171957607540e2,   1.02755188689515710272e3,
    5.57535335369399327526e2};
static constexpr double kErfcDenominator[] = {1.0,
                                              1.32281951154744992508e1,
                                              8.67072140885989742329e1,
                                              3.54937778887819891062e2,
                                              9.75708501743205489753e2,
                                              1.82390916687909736289e3,
                                              2.24633760818710981792e3,
                                              1.65666309194161350182e3,
                                              5.57535340817727675546e2};
// erfc from 8 on.
static constexpr double kErfcFarNumerator[] = {
    5.64189583547755073984e-1, 1.27536670759978104416e0,
    5.01905042251180477414e0,  6.16021097993053585195e0,
    7.40974269950448939160e0,  2.97886665372100240670e0};
static constexpr double kErfcFarDenominator[] = {1.0,
                                                 2.26052863220117276590e0,
                                                 9.39603524938001434673e0,
                                                 1.20489539808096656605e1,
                                                 1.70814450747565897222e1,
                                                 9.60896809063285878198e0,
                                                 3.36907645100081516050e0};

/// erf for |x| <= 1.
static Expr erfNearZero(Expr x) {
  Expr square = x * x;
  return x * polynomial(square, kErfNumerator) /
         polynomial(square, kErfDenominator);
}

/// erfc for |x| >= 1.
static Expr erfcAwayFromZero(Expr x) {
  Expr magnitude = abs(x);
  Expr scale = exp(-(x * x));
  Expr near = polynomial(magnitude, kErfcNumerator) /
              polynomial(magnitude, kErfcDenominator);
  Expr far = polynomial(magnitude, kErfcFarNumerator) /
             polynomial(magnitude, kErfcFarDenominator);
  Expr value = scale * select(magnitude < 8.0, near, far);
  // Far out the polynomials overflow before their quotient vanishes.
  value = select(30.0 < magnitude, x.splat(0), value);
  return select(x < 0.0, 2.0 - value, value);
}

Expr mlir::chlo::buildErf(Expr x) {
  return select(abs(x) < 1.0, erfNearZero(x), 1.0 - erfcAwayFromZero(x));
}

Expr mlir::chlo::buildErfc(Expr x) {
  return select(abs(x) < 1.0, 1.0 - erfNearZero(x), erfcAwayFromZero(x));
}

static Expr erfInvSingle(Expr x) {
  static constexpr double kCentral[] = {
      2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
      -4.39150654e-06, 0.00021858087,  -0.00125372503,
      -0.00417768164,  0.246640727,    1.50140941};
  static constexpr double kTail[] = {
      -0.000200214257, 0.000100950558, 0.00134934322,
      -0.00367342844,  0.00573950773,  -0.0076224613,
      0.00943887047,   1.00167406,     2.83297682};
  Expr w = -log1p(-(x * x));
  Expr central = polynomial(w - 2.5, kCentral);
  Expr tail = polynomial(sqrt(w) - 3.0, kTail);
  return select(w < 5.0, central, tail) * x;
}

Expr mlir::chlo::buildErfInv(Expr x) {
  Expr value = erfInvSingle(x);
  if (x.getElementType().isF64()) {
    Expr magnitude = abs(x);
    // The approximation ends where single precision does; further out erfc is
    // close to its asymptotic expansion.
    Expr logOfRest = -log1p(-magnitude);
    Expr far = sqrt(logOfRest - 0.5 * log(kPi * logOfRest));
    Expr guess = select(magnitude < 0.9999, abs(value), far);
    for (int step = 0; step < 2; ++step) {
      // 1 - |x| is exact where erf loses digits.
      Expr error = select(magnitude < 0.5, buildErf(guess) - magnitude,
                          (1.0 - magnitude) - buildErfc(guess));
      Expr slope = (2 / std::sqrt(kPi)) * exp(-(guess * guess));
      Expr newton = error / slope;
      guess = guess - newton / (1.0 + guess * newton);
    }
    value = sign(x) * guess;
    // The correction underflows where the function is linear.
    value = select(magnitude < 1e-8, x * (std::sqrt(kPi) / 2), value);
  }
  Expr atEnds = select(x < 0.0, -x.splatInfinity(), x.splatInfinity());
  return select(equal(abs(x), 1.0), atEnds, value);
}

// exp(-x) I1(x) / x on [0, 8] in x / 4 - 1.
static constexpr double kBesselNear[] = {
    0.252587186443633655,     -0.176416518357834055,
    0.102643658689847095,     -0.0529459812080949914,
    0.0247264490306265168,    -0.0105640848946261982,
    0.00415642294431288816,   -0.00151357245063125315,
    0.000512285956168575773,  -0.000161760815825896746,
    0.0000478156510755005423, -0.0000132731636560394358,
    3.47025130813767848e-6,   -8.56872026469545474e-7,
    2.00329475355213526e-7,   -4.44505912879632808e-8,
    9.38153738649577178e-9,   -1.88724975172282929e-9,
    3.62559028155211704e-10,  -6.66348972350202774e-11,
    1.17361862988909016e-11,  -1.98397439776494372e-12,
    3.22379336594557471e-13,  -5.04218550472791169e-14,
    7.60068429473540693e-15,  -1.10559694773538631e-15,
    1.55363195773620047e-16,  -2.11142121435816608e-17,
    2.77791411276104637e-18};
// exp(-x) I1(x) sqrt(x) from 8 on in 16 / x - 1.
static constexpr double kBesselFar[] = {
    0.77857623501828012,      -0.00976109749136146841,
    -0.000110588938762623716, -3.88256480887769039e-6,
    -2.51223623787020893e-7,  -2.63146884688951951e-8,
    -3.83538038596423702e-9,  -5.58974346219658381e-10,
    -1.89749581235054123e-11, 3.25260358301548824e-11,
    1.41258074366137813e-11,  2.03562854414708951e-12,
    -7.19855177624590851e-13, -4.08355111109219732e-13,
    -2.10154184277266431e-14, 4.27244001671195135e-14,
    1.04202769841288028e-14,  -3.8144030724370078e-15,
    -1.88035477551078245e-15, 3.30820231092092828e-16,
    2.96262899764595014e-16,  -3.20952592199342396e-17,
    -4.65030536848935833e-17, 4.41434832307170795e-18,
    7.51729631084210481e-18};

Expr mlir::chlo::buildBesselI1e(Expr x) {
  // Single precision is reached long before the end of the series.
  bool isDouble = x.getElementType().isF64();
  ArrayRef<double> near(kBesselNear), far(kBesselFar);
  if (!isDouble) {
    near = near.take_front(18);
    far = far.take_front(8);
  }
  Expr magnitude = abs(x);
  Expr small = x * chebyshev(magnitude * 0.25 - 1.0, near);
  Expr large = chebyshev(16.0 / magnitude - 1.0, far) / sqrt(magnitude);
  return select(magnitude <= 8.0, small, select(x < 0.0, -large, large));
}
