//===- FragmentCost.cpp - What one run of a fragment takes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An exported fragment has shardings at its border; those inside are found by
// propagation, in a copy, as the compiler of the fragment will find them.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/FragmentCost.h"
#include "meshwright/Cost/BodyCost.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Propagation/Pipeline.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace meshwright;

CostModel::CostModel(ModuleOp module, Device device, CustomCosts customs)
    : symbols(module), device(std::move(device)), customs(std::move(customs)) {}

static bool isSplit(sdy::TensorShardingAttr sharding) {
  return sharding && !sharding.emptyAxes();
}

static bool hasSplitOps(Operation *symbol) {
  return symbol
      ->walk([](Operation *op) {
        bool split = isa<sdy::ManualComputationOp>(op);
        for (Value result : op->getResults())
          split |= isSplit(sdy::getSharding(result));
        return split ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether anything is split in a fragment: at its border, or by ops in it and
/// in what it calls.
static bool isSharded(func::FuncOp fragment, SymbolTable &symbols) {
  for (unsigned i = 0; i < fragment.getNumArguments(); ++i)
    if (isSplit(sdy::getArgSharding(fragment, i)))
      return true;
  for (unsigned i = 0; i < fragment.getNumResults(); ++i)
    if (isSplit(sdy::getResultSharding(fragment, i)))
      return true;
  return hasSplitOps(fragment) ||
         llvm::any_of(collectSymbols(fragment, symbols), hasSplitOps);
}

FailureOr<FragmentCost> CostModel::compute(func::FuncOp fragment) {
  auto mesh = fragment->getAttrOfType<sdy::MeshAttr>(mpmd::kMeshShapeAttr);
  auto parent = fragment->getParentOfType<ModuleOp>();
  if (!mesh || mesh.getTotalSize() <= 1 || !isSharded(fragment, symbols)) {
    WorkEstimator works(parent, customs);
    return BodyEstimator(parent, {}, device, works).estimate(fragment);
  }
  FailureOr<OwningOpRef<ModuleOp>> copy = makeFragmentModule(fragment, symbols);
  if (failed(copy))
    return failure();
  auto passes = PassManager::on<ModuleOp>(fragment.getContext());
  passes.enableVerifier(false);
  sdy::addPropagationPipeline(passes, {});
  if (failed(passes.run(**copy)))
    return failure();
  WorkEstimator works(**copy, customs);
  auto main = (*copy)->lookupSymbol<func::FuncOp>("main");
  return BodyEstimator(**copy, mesh, device, works).estimate(main);
}

FailureOr<FragmentCost> CostModel::estimate(func::FuncOp fragment) {
  if (auto found = known.find(fragment); found != known.end())
    return found->second;
  if (fragment.isExternal())
    return fragment.emitError()
           << "is not the program of a fragment: it has no body";
  FailureOr<FragmentCost> cost = compute(fragment);
  if (failed(cost))
    return failure();
  WorkEstimator own(symbols.getOp(), customs);
  cost->total = own.estimate(fragment.getBody());
  cost->uncounted = own.getUncounted();
  known[fragment] = *cost;
  return cost;
}
