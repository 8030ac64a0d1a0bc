//===- FactorPropagation.cpp - Propagate axes among tensors ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Factors/FactorPropagation.h"

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// Compatible axes
//===----------------------------------------------------------------------===//

namespace {

/// The axes found so far while the tensors of an op are asked one by one.
class AgreedAxes {
public:
  void combine(ArrayRef<AxisRefAttr> other, bool mayExtend) {
    size_t common = std::min(axes.size(), other.size());
    for (size_t i = 0; i < common; ++i)
      if (axes[i] != other[i])
        return settle(i, other, mayExtend);
    if (other.size() > axes.size())
      extend(other, mayExtend);
  }

  SmallVector<AxisRefAttr> take() { return std::move(axes); }

private:
  /// The lists differ at a position that both have.
  void settle(size_t position, ArrayRef<AxisRefAttr> other, bool mayExtend) {
    AxisRefAttr mine = axes[position], theirs = other[position];
    if (isPrefixOf(mine, theirs)) {
      if (position + 1 == axes.size())
        return extend(other, mayExtend);
      stopAt(position + 1);
    } else if (!isPrefixOf(theirs, mine)) {
      stopAt(position);
    } else if (position + 1 != other.size()) {
      axes[position] = theirs;
      stopAt(position + 1);
    }
  }

  void extend(ArrayRef<AxisRefAttr> longer, bool mayExtend) {
    if (mayExtend && !isStopped)
      axes.assign(longer.begin(), longer.end());
  }

  void stopAt(size_t size) {
    axes.truncate(size);
    isStopped = true;
  }

  SmallVector<AxisRefAttr> axes;
  bool isStopped = false;
};

} // namespace

SmallVector<AxisRefAttr>
sdy::getCompatibleAxes(const ShardingProjection &projection, int64_t factor,
                       PropagationDirection direction) {
  AgreedAxes agreed;
  auto ask = [&](ArrayRef<ProjectedTensor> tensors, bool mayExtend) {
    for (const ProjectedTensor &tensor : tensors)
      if (tensor.factors[factor].isPresent)
        agreed.combine(tensor.factors[factor].axes, mayExtend);
  };
  switch (direction) {
  case PropagationDirection::NONE:
    break;
  case PropagationDirection::BACKWARD:
    ask(projection.results, /*mayExtend=*/true);
    ask(projection.operands, /*mayExtend=*/false);
    break;
  case PropagationDirection::FORWARD:
  case PropagationDirection::BOTH:
    ask(projection.operands, /*mayExtend=*/true);
    ask(projection.results,
        /*mayExtend=*/direction == PropagationDirection::BOTH);
    break;
  }
  return agreed.take();
}

//===----------------------------------------------------------------------===//
// What a tensor allows
//===----------------------------------------------------------------------===//

/// The prefix of an axis that no other factor of the tensor uses.
static AxisRefAttr cutUsedByOtherFactors(AxisRefAttr axis, int64_t factor,
                                         const ProjectedTensor &tensor) {
  for (auto [index, other] : llvm::enumerate(tensor.factors)) {
    if (!axis)
      break;
    if (static_cast<int64_t>(index) == factor)
      continue;
    axis = getPrefixWithoutOverlap(axis, other.axes);
    if (axis)
      axis = getPrefixWithoutOverlap(axis, other.overflowAxes);
  }
  return axis;
}

/// The prefix of an axis that a factor may have after axes of a given total
/// size.
static AxisRefAttr cutForFactor(AxisRefAttr axis, int64_t sizeBefore,
                                int64_t factorSize,
                                const FactorSharding &factor,
                                ArrayRef<AxisRefAttr> excludedAxes,
                                MeshAttr mesh) {
  axis = getPrefixWithoutOverlap(axis, excludedAxes);
  if (!axis || llvm::any_of(factor.axes, [&](AxisRefAttr present) {
        return contains(present, axis);
      }))
    return axis;
  AxisRefAttr present =
      factor.axes.empty() || !isPrefixOf(factor.axes.back(), axis)
          ? AxisRefAttr()
          : factor.axes.back();
  if (factor.isClosed || !factor.overflowAxes.empty())
    return present;
  if (factor.isMinorMost)
    return axis;
  if (factorSize % sizeBefore != 0)
    return present;
  int64_t axisSize = axis.getSize(mesh);
  int64_t common = std::gcd(factorSize / sizeBefore, axisSize);
  if (common == 1 && axisSize != 1)
    return present;
  return common == axisSize
             ? axis
             : AxisRefAttr::get(axis.getContext(), axis.getName(),
                                axis.getPreSize(), common);
}

/// Cuts a list at the first axis that is not allowed completely, and before a
/// sub-axis if only whole axes are to propagate. `allow` gives
/// the allowed prefix of an axis after axes of a given total size.
static SmallVector<AxisRefAttr>
cutList(ArrayRef<AxisRefAttr> axes, const PropagationRule &rule, MeshAttr mesh,
        llvm::function_ref<AxisRefAttr(AxisRefAttr, int64_t)> allow) {
  SmallVector<AxisRefAttr> allowed;
  int64_t size = 1;
  for (AxisRefAttr axis : axes) {
    AxisRefAttr prefix = allow(axis, size);
    if (rule.isConservative && prefix && prefix.isSubAxis())
      break;
    if (prefix)
      allowed.push_back(prefix);
    if (prefix != axis)
      break;
    size *= axis.getSize(mesh);
  }
  return allowed;
}

/// Gives a tensor new axes for a factor if they continue those it has.
static void extendFactor(ProjectedTensor &tensor, int64_t factor,
                         ArrayRef<AxisRefAttr> axes) {
  FactorSharding &sharding = tensor.factors[factor];
  if (!sharding.isPresent || !isStrictExtension(sharding.axes, axes))
    return;
  sharding.axes.assign(axes.begin(), axes.end());
  tensor.isExtended = true;
}

//===----------------------------------------------------------------------===//
// Basic strategy
//===----------------------------------------------------------------------===//

static void propagateBasic(ShardingProjection &projection,
                           const PropagationRule &rule, MeshAttr mesh) {
  auto forEachTensor = [&](auto callback) {
    llvm::for_each(projection.operands, callback);
    llvm::for_each(projection.results, callback);
  };
  for (int64_t factor = 0; factor < rule.rule.getNumFactors(); ++factor) {
    SmallVector<AxisRefAttr> axes =
        getCompatibleAxes(projection, factor, rule.directions[factor]);
    axes = cutList(axes, rule, mesh, [&](AxisRefAttr axis, int64_t sizeBefore) {
      forEachTensor([&](const ProjectedTensor &tensor) {
        if (axis)
          axis = cutUsedByOtherFactors(axis, factor, tensor);
        if (axis && tensor.factors[factor].isPresent)
          axis =
              cutForFactor(axis, sizeBefore, rule.rule.getFactorSize(factor),
                           tensor.factors[factor], tensor.excludedAxes, mesh);
      });
      return axis;
    });
    forEachTensor(
        [&](ProjectedTensor &tensor) { extendFactor(tensor, factor, axes); });
  }
}

//===----------------------------------------------------------------------===//
// Aggressive strategy
//===----------------------------------------------------------------------===//

namespace {

/// A factor, the axes that it is to get, and where they come from.
struct FactorOffer {
  int64_t factor;
  SmallVector<AxisRefAttr> axes;
  /// Into how many pieces the axes cut the factor.
  int64_t numPieces = 1;
  /// The largest tensor that has these axes: size and position.
  int64_t sourceSize = 0;
  size_t sourcePosition = 0;
};

class AggressivePropagation {
public:
  AggressivePropagation(ShardingProjection &projection,
                        const PropagationRule &rule, MeshAttr mesh)
      : projection(projection), rule(rule), mesh(mesh) {}

  void run() {
    for (int64_t factor = 0; factor < rule.rule.getNumFactors(); ++factor) {
      FactorOffer offer{factor, getCompatibleAxes(projection, factor,
                                                  rule.directions[factor])};
      if (offer.axes.empty())
        continue;
      offer.numPieces = getTotalSize(offer.axes, mesh);
      offers.push_back(std::move(offer));
    }
    findSources();
    auto getRank = [&](const FactorOffer &offer) {
      return std::tuple(-offer.sourceSize,
                        rule.isElementwise ? -offer.numPieces : 0,
                        offer.sourcePosition, offer.factor);
    };
    llvm::sort(offers, [&](const FactorOffer &a, const FactorOffer &b) {
      return getRank(a) < getRank(b);
    });
    for (ProjectedTensor &tensor : projection.results)
      for (const FactorOffer &offer : offers)
        accept(offer.factor, offer.axes, tensor);
    for (ProjectedTensor &tensor : projection.operands)
      for (const FactorOffer &offer : offers)
        accept(offer.factor, limitByResults(offer), tensor);
  }

private:
  void findSources() {
    size_t position = 0;
    auto visit = [&](const ProjectedTensor &tensor) {
      int64_t size = 1;
      for (auto [index, factor] : llvm::enumerate(tensor.factors))
        if (factor.isPresent &&
            llvm::MulOverflow(size, rule.rule.getFactorSize(index), size))
          size = std::numeric_limits<int64_t>::max();
      for (FactorOffer &offer : offers)
        if (hasAll(tensor.factors[offer.factor], offer.axes) &&
            size > offer.sourceSize) {
          offer.sourceSize = size;
          offer.sourcePosition = position;
        }
      ++position;
    };
    llvm::for_each(projection.operands, visit);
    llvm::for_each(projection.results, visit);
  }

  static bool hasAll(const FactorSharding &factor, ArrayRef<AxisRefAttr> axes) {
    return factor.isPresent && (axes == ArrayRef(factor.axes) ||
                                isStrictExtension(axes, factor.axes));
  }

  /// An operand of an elementwise op must not be split further than a result.
  ArrayRef<AxisRefAttr> limitByResults(const FactorOffer &offer) const {
    ArrayRef<AxisRefAttr> axes = offer.axes;
    if (!rule.isElementwise)
      return axes;
    for (const ProjectedTensor &result : projection.results)
      if (const FactorSharding &factor = result.factors[offer.factor];
          factor.isPresent && isStrictExtension(factor.axes, axes))
        axes = factor.axes;
    return axes;
  }

  void accept(int64_t factor, ArrayRef<AxisRefAttr> axes,
              ProjectedTensor &tensor) {
    FactorSharding &sharding = tensor.factors[factor];
    if (!sharding.isPresent)
      return;
    SmallVector<AxisRefAttr> allowed =
        cutList(axes, rule, mesh, [&](AxisRefAttr axis, int64_t sizeBefore) {
          return cutForFactor(axis, sizeBefore, rule.rule.getFactorSize(factor),
                              sharding, tensor.excludedAxes, mesh);
        });
    if (!isStrictExtension(sharding.axes, allowed))
      return;
    allowed = cutList(allowed, rule, mesh, [&](AxisRefAttr axis, int64_t) {
      return cutUsedByOtherFactors(axis, factor, tensor);
    });
    extendFactor(tensor, factor, allowed);
  }

  ShardingProjection &projection;
  const PropagationRule &rule;
  MeshAttr mesh;
  SmallVector<FactorOffer> offers;
};

} // namespace

void sdy::propagateAxes(ShardingProjection &projection,
                        const PropagationRule &rule, MeshAttr mesh,
                        FactorStrategy strategy) {
  if (strategy == FactorStrategy::Basic)
    propagateBasic(projection, rule, mesh);
  else
    AggressivePropagation(projection, rule, mesh).run();
}
