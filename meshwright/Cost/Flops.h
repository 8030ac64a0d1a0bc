//===- Flops.h - Floating point work of operations --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_FLOPS_H
#define MESHWRIGHT_COST_FLOPS_H

#include "meshwright/Cost/CustomCost.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include <set>

namespace meshwright {

/// Operations of a vector unit that a transcendental result takes.
inline constexpr double kPerTranscendental = 8;

/// Loops in loops may multiply beyond all numbers, which then count as the
/// largest; none of it is none, however often.
double saturate(double count);

/// Work in global shapes. Transcendental results are counted apart, because
/// they never run at the speed of a matrix product.
struct Work {
  double flops = 0;
  double transcendentals = 0;
  /// The part of `flops` that is in matrix products and convolutions.
  double matrixFlops = 0;
  /// Custom calls of unknown work, and loops whose trip count could
  /// not be read and was taken as one.
  unsigned unknown = 0;

  Work &operator+=(const Work &other);
  Work operator*(double factor) const;
};

/// Estimates the work of ops and of everything nested in them. Callees are
/// looked up in the module given at construction and estimated once.
class WorkEstimator {
public:
  explicit WorkEstimator(mlir::Operation *symbolTableOp,
                         CustomCosts customs = {})
      : symbolTableOp(symbolTableOp), customs(std::move(customs)) {}

  Work estimate(mlir::Operation *op);
  Work estimate(mlir::Region &region);

  /// Bytes that a custom call moves, if the user has said that.
  std::optional<double> countCustomBytes(mlir::Operation *customCall);
  /// The names of all custom calls so far that the user said nothing about.
  const std::set<std::string> &getUncounted() const { return uncounted; }

private:
  std::optional<Work> estimateApplications(mlir::Operation *op);
  std::optional<Work> estimateControlFlow(mlir::Operation *op);
  Work estimateCallee(mlir::SymbolRefAttr callee);
  Work estimateCustomCall(mlir::Operation *customCall);
  std::optional<double> evaluate(mlir::Operation *customCall,
                                 std::optional<SizeExpression> CustomCost::*);

  mlir::Operation *symbolTableOp;
  CustomCosts customs;
  std::set<std::string> uncounted, warnedOfRank;
  mlir::SymbolTableCollection symbols;
  llvm::DenseMap<mlir::Operation *, Work> callees;
};

/// The trip count of a loop that counts an argument up from a constant by a
/// constant while it is below a constant.
std::optional<double> readTripCount(mlir::Operation *whileOp);

/// Whether each result element of an op takes several operations of a vector unit.
bool isTranscendental(mlir::Operation *op);

/// Whether an op only copies elements, and computes none.
bool movesDataOnly(mlir::Operation *op);

} // namespace meshwright

#endif
