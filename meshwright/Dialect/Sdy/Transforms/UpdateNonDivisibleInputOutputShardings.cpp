//===- UpdateNonDivisibleInputOutputShardings.cpp -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation does not ask whether axes split a dimension evenly. Values that
// cross the border of a program, a fragment or a mesh must be, so there each
// dimension keeps the axes from the left that divide it. Of an axis that does
// not, the part that does is kept:
//
//   tensor<12xf32>, x=2, y=4:  {"x", "y"} becomes {"x", "y":(1)2}
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "mlir/IR/SymbolTable.h"

#define GEN_PASS_DEF_UPDATENONDIVISIBLEINPUTOUTPUTSHARDINGSPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static DimensionShardingAttr
makeDivisible(int64_t size, DimensionShardingAttr dim, MeshAttr mesh) {
  if (ShapedType::isDynamic(size) || size % dim.getShardedSize(mesh) == 0)
    return dim;
  SmallVector<AxisRefAttr> kept;
  for (AxisRefAttr axis : dim.getAxes()) {
    int64_t axisSize = axis.getSize(mesh);
    int64_t common = std::gcd(axisSize, size);
    if (common == axisSize) {
      kept.push_back(axis);
      size /= axisSize;
      continue;
    }
    if (common != 1)
      kept.push_back(AxisRefAttr::get(axis.getContext(), axis.getName(),
                                      axis.getPreSize(), common));
    break;
  }
  return dim.replaceAxes(kept).dropPriority();
}

namespace {

/// Changes shardings on the meshes of a module.
class DivisibleShardings {
public:
  explicit DivisibleShardings(ModuleOp module) : symbols(module) {}

  unsigned getNumChanged() const { return numChanged; }

  void update(func::FuncOp func) {
    updateSignatureShardings(func, [&](const SignatureEntry &entry) {
      return entry.sharding ? makeDivisible(entry.type, entry.sharding)
                            : entry.sharding;
    });
  }

  void updateOwners(DataFlowOpInterface op) {
    auto arguments =
        llvm::map_to_vector(op.getBlockArgumentEdgeOwners(),
                            [](BlockArgument arg) { return arg.getType(); });
    if (auto shardings =
            makeDivisible(arguments, op.getBlockArgumentEdgeOwnerShardings());
        !shardings.empty())
      op.setBlockArgumentEdgeOwnerShardings(shardings);
    auto results = llvm::to_vector(op.getOpResultEdgeOwners().getTypes());
    if (auto shardings =
            makeDivisible(results, op.getOpResultEdgeOwnerShardings());
        !shardings.empty())
      op.setOpResultEdgeOwnerShardings(shardings);
  }

  void updateResults(Operation *op) {
    auto types = llvm::to_vector(op->getResultTypes());
    setResultShardings(op, makeDivisible(types, getResultShardings(op)));
  }

private:
  TensorShardingAttr makeDivisible(Type type, TensorShardingAttr sharding) {
    MeshAttr mesh = sharding.getMesh(symbols);
    auto shaped = dyn_cast<ShapedType>(type);
    if (!mesh || !shaped || !shaped.hasRank() ||
        shaped.getRank() != sharding.getRank())
      return sharding;
    SmallVector<DimensionShardingAttr> dims;
    for (auto [size, dim] :
         llvm::zip(shaped.getShape(), sharding.getDimShardings()))
      dims.push_back(::makeDivisible(size, dim, mesh));
    TensorShardingAttr divisible = sharding.replaceDimShardings(dims);
    numChanged += divisible != sharding;
    return divisible;
  }

  SmallVector<TensorShardingAttr>
  makeDivisible(ArrayRef<Type> types,
                SmallVector<TensorShardingAttr> shardings) {
    for (auto [type, sharding] : llvm::zip(types, shardings))
      if (sharding)
        sharding = makeDivisible(type, sharding);
    return shardings;
  }

  SymbolTable symbols;
  unsigned numChanged = 0;
};

struct UpdateNonDivisibleInputOutputShardingsPass
    : sdy::impl::UpdateNonDivisibleInputOutputShardingsPassBase<
          UpdateNonDivisibleInputOutputShardingsPass> {
  void runOnOperation() override {
    DivisibleShardings shardings(getOperation());
    WalkResult result =
        walkOwnOps(getOperation(), [&](Operation *op) -> WalkResult {
          if (auto func = dyn_cast<func::FuncOp>(op)) {
            shardings.update(func);
            return WalkResult::advance();
          }
          if (auto flow = dyn_cast<DataFlowOpInterface>(op)) {
            if (!flow.shouldKeepEdgeOwnerShardingsDivisible())
              return WalkResult::advance();
            if (failed(verifyEdgeOwnerShardings(flow)))
              return WalkResult::interrupt();
            shardings.updateOwners(flow);
            return WalkResult::advance();
          }
          auto rule = dyn_cast<ShardingRuleOpInterface>(op);
          if (isa<func::CallOp>(op) ||
              (rule && rule.shouldKeepOutputShardingsDivisible()))
            shardings.updateResults(op);
          return WalkResult::advance();
        });
    if (result.wasInterrupted())
      return signalPassFailure();
    numChanged += shardings.getNumChanged();
  }
};

} // namespace
