//===- MathPatterns.cpp - Special functions to arithmetic -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/LegalizePatterns.h"
#include "meshwright/Dialect/CHLO/Transforms/SpecialFunctions.h"

using namespace mlir;
using namespace mlir::chlo;

/// The type to compute in: f32 at least, since the approximations are made for
/// single and double precision.
static Type computeType(Type element) {
  if (auto number = dyn_cast<FloatType>(element))
    return number.getWidth() < 32 ? Float32Type::get(element.getContext())
                                  : element;
  return element;
}

static bool isSupported(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  if (auto pair = dyn_cast<ComplexType>(element))
    element = pair.getElementType();
  return isa<FloatType>(element);
}

namespace {
/// Writes an op whose operands and result are of one type as a formula.
template <typename OpTy, typename Formula>
struct LegalizeByFormula : OpRewritePattern<OpTy> {
  LegalizeByFormula(MLIRContext *context, Formula formula)
      : OpRewritePattern<OpTy>(context), formula(formula) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!llvm::all_of(op->getOperandTypes(), isSupported))
      return rewriter.notifyMatchFailure(op, "needs static float tensors");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Type element =
        cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
    auto operand = [&](unsigned index) {
      return Expr(op->getOperand(index), builder).as(computeType(element));
    };
    Expr value = [&] {
      if constexpr (std::is_invocable_v<Formula, Expr>)
        return formula(operand(0));
      else
        return formula(operand(0), operand(1));
    }();
    auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
    rewriter.replaceOp(op, value.as(resultType.getElementType()).getValue());
    return success();
  }

private:
  Formula formula;
};
} // namespace

template <typename OpTy, typename Formula>
static void addFormula(RewritePatternSet &patterns, Formula formula) {
  patterns.add<LegalizeByFormula<OpTy, Formula>>(patterns.getContext(),
                                                 formula);
}

void mlir::chlo::populateMathPatterns(RewritePatternSet &patterns) {
  addFormula<AcosOp>(patterns, buildAcos);
  addFormula<AcoshOp>(patterns, buildAcosh);
  addFormula<AsinOp>(patterns, buildAsin);
  addFormula<AsinhOp>(patterns, buildAsinh);
  addFormula<AtanOp>(patterns, buildAtan);
  addFormula<AtanhOp>(patterns, buildAtanh);
  addFormula<BesselI1eOp>(patterns, buildBesselI1e);
  addFormula<CoshOp>(patterns, buildCosh);
  addFormula<DigammaOp>(patterns, buildDigamma);
  addFormula<ErfInvOp>(patterns, buildErfInv);
  addFormula<ErfOp>(patterns, buildErf);
  addFormula<ErfcOp>(patterns, buildErfc);
  addFormula<LgammaOp>(patterns, buildLgamma);
  addFormula<PolygammaOp>(patterns, buildPolygamma);
  addFormula<SinhOp>(patterns, buildSinh);
  addFormula<ZetaOp>(patterns, buildZeta);
  addFormula<AsinAcosKernelOp>(patterns, buildAsinAcosKernel);
  addFormula<TanOp>(patterns, [](Expr x) { return tangent(x); });
  addFormula<SquareOp>(patterns, [](Expr x) { return x * x; });
  addFormula<ConjOp>(patterns, [](Expr x) {
    // The conjugate of a real number is the number.
    return isa<ComplexType>(x.getElementType()) ? complex(real(x), -imag(x))
                                                : x;
  });
  addFormula<IsInfOp>(patterns,
                      [](Expr x) { return equal(abs(x), x.splatInfinity()); });
  addFormula<IsPosInfOp>(patterns,
                         [](Expr x) { return equal(x, x.splatInfinity()); });
  addFormula<IsNegInfOp>(patterns,
                         [](Expr x) { return equal(x, -x.splatInfinity()); });
}
