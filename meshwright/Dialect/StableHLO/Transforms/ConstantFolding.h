//===- ConstantFolding.h - What foldings of constants share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_CONSTANTFOLDING_H
#define MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_CONSTANTFOLDING_H

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace mlir::stablehlo {

/// The type of the only result of `op`.
inline RankedTensorType getResultType(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType());
}

/// The constants that `op` reads, or nothing if some operand is none. Empty
/// tensors are left to a pattern of their own.
SmallVector<DenseElementsAttr> getConstantOperands(Operation *op);

inline bool areSplats(ArrayRef<DenseElementsAttr> constants) {
  return llvm::all_of(constants,
                      [](DenseElementsAttr attr) { return attr.isSplat(); });
}

/// Bounds what is evaluated in this thread while it lives, all folds together:
/// a chain of ops on constants has results that are larger than its text.
class FoldingBudget {
public:
  FoldingBudget();
  ~FoldingBudget();
  FoldingBudget(const FoldingBudget &) = delete;
  FoldingBudget &operator=(const FoldingBudget &) = delete;
};

/// Whether a constant is neither too large nor beyond the budget, from which it
/// is taken.
bool takeFromBudget(RankedTensorType type, int64_t limit);

/// The same for a result that an op computes from constants element by element.
/// One of splats is itself a splat and takes no more memory.
bool isWithinLimit(RankedTensorType type, ArrayRef<DenseElementsAttr> operands,
                   int64_t limit);

/// The limit of ops that do not observe the one of the options: their results
/// are no larger than their operands, but each is another constant.
int64_t getEagerLimit(const OptimizationOptions &options);

/// Evaluates element by element, or once if all operands are splats. Nothing if
/// `function` has no value somewhere. Upstream's CommonFolders.h knows one or
/// two operands, not the three of clamp, and not the parts of complex numbers.
template <typename From, typename To, typename Function>
DenseElementsAttr evaluate(RankedTensorType type,
                           ArrayRef<DenseElementsAttr> operands,
                           Function function) {
  int64_t count = areSplats(operands) ? 1 : type.getNumElements();
  auto iterators = llvm::map_to_vector<4>(operands, [](DenseElementsAttr attr) {
    return attr.value_begin<From>();
  });
  SmallVector<To> values;
  values.reserve(count);
  SmallVector<From, 4> args;
  for (int64_t i = 0; i < count; ++i) {
    args.clear();
    for (auto &it : iterators)
      args.push_back(*it++);
    std::optional<To> value = function(ArrayRef<From>(args));
    if (!value)
      return {};
    values.push_back(std::move(*value));
  }
  return DenseElementsAttr::get(type, values);
}

} // namespace mlir::stablehlo

#endif
