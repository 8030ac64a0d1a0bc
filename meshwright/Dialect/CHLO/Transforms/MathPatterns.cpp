//===- MathPatterns.cpp - Special functions to arithmetic -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/Transforms/LegalizePatterns.h"
#include "meshwright/Dialect/CHLO/Transforms/SpecialFunctions.h"
#include "mlir/IR/TypeUtilities.h"

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

namespace {
/// The numbers that a formula is made for.
enum class Domain { Real, RealOrComplex };

/// Writes an op whose operands and result are of one type as a formula.
template <typename OpTy, typename Formula>
struct LegalizeByFormula : OpRewritePattern<OpTy> {
  LegalizeByFormula(MLIRContext *context, Domain domain, Formula formula)
      : OpRewritePattern<OpTy>(context), domain(domain), formula(formula) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type resultType = op->getResult(0).getType();
    Type resultElement = getElementTypeOrSelf(resultType);
    if (!llvm::all_of(op->getOperandTypes(), [&](Type type) {
          return isSupported(type) && cast<RankedTensorType>(type).clone(
                                          resultElement) == resultType;
        }))
      return rewriter.notifyMatchFailure(op,
                                         "needs static float tensors, and a "
                                         "result of their shape");
    // In a graph region; the formula may be nothing but the operand.
    if (llvm::is_contained(op->getOperands(), op->getResult(0)))
      return rewriter.notifyMatchFailure(op, "reads its own result");
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
    rewriter.replaceOp(op, value.as(resultElement).getValue());
    return success();
  }

private:
  bool isSupported(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return false;
    Type element = tensor.getElementType();
    if (isa<ComplexType>(element))
      return domain == Domain::RealOrComplex;
    return isa<FloatType>(element);
  }

  Domain domain;
  Formula formula;
};
} // namespace

template <typename OpTy, typename Formula>
static void addFormula(RewritePatternSet &patterns, Domain domain,
                       Formula formula) {
  patterns.add<LegalizeByFormula<OpTy, Formula>>(patterns.getContext(), domain,
                                                 formula);
}

void mlir::chlo::populateMathPatterns(RewritePatternSet &patterns) {
  addFormula<AcosOp>(patterns, Domain::RealOrComplex, buildAcos);
  addFormula<AcoshOp>(patterns, Domain::RealOrComplex, buildAcosh);
  addFormula<AsinOp>(patterns, Domain::RealOrComplex, buildAsin);
  addFormula<AsinhOp>(patterns, Domain::RealOrComplex, buildAsinh);
  addFormula<AtanOp>(patterns, Domain::RealOrComplex, buildAtan);
  addFormula<AtanhOp>(patterns, Domain::RealOrComplex, buildAtanh);
  addFormula<BesselI1eOp>(patterns, Domain::Real, buildBesselI1e);
  addFormula<CoshOp>(patterns, Domain::RealOrComplex, buildCosh);
  addFormula<DigammaOp>(patterns, Domain::Real, buildDigamma);
  addFormula<ErfInvOp>(patterns, Domain::Real, buildErfInv);
  addFormula<ErfOp>(patterns, Domain::Real, buildErf);
  addFormula<ErfcOp>(patterns, Domain::Real, buildErfc);
  addFormula<LgammaOp>(patterns, Domain::Real, buildLgamma);
  addFormula<PolygammaOp>(patterns, Domain::Real, buildPolygamma);
  addFormula<SinhOp>(patterns, Domain::RealOrComplex, buildSinh);
  addFormula<ZetaOp>(patterns, Domain::Real, buildZeta);
  addFormula<AsinAcosKernelOp>(patterns, Domain::RealOrComplex,
                               buildAsinAcosKernel);
  addFormula<TanOp>(patterns, Domain::RealOrComplex,
                    [](Expr x) { return tangent(x); });
  addFormula<SquareOp>(patterns, Domain::RealOrComplex, buildSquare);
  addFormula<ConjOp>(patterns, Domain::RealOrComplex, [](Expr x) {
    // The conjugate of a real number is the number.
    return isa<ComplexType>(x.getElementType()) ? complex(real(x), -imag(x))
                                                : x;
  });
  addFormula<IsInfOp>(patterns, Domain::Real,
                      [](Expr x) { return equal(abs(x), x.splatInfinity()); });
  addFormula<IsPosInfOp>(patterns, Domain::Real,
                         [](Expr x) { return equal(x, x.splatInfinity()); });
  addFormula<IsNegInfOp>(patterns, Domain::Real,
                         [](Expr x) { return equal(x, -x.splatInfinity()); });
}
