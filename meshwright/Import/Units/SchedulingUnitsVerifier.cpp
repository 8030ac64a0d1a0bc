//===- SchedulingUnitsVerifier.cpp - One unit per mesh and microbatch -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The pipeline schedules assume that each mesh runs, for each microbatch, one
// forward and one backward fragment. A program of another shape still compiles,
// but its schedule is probably not the one its author had in mind; hence
// warnings, one per mesh and direction.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "llvm/ADT/StringMap.h"

#define GEN_PASS_DEF_SCHEDULINGUNITSVERIFIERPASS
#include "meshwright/Import/Units/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// The scheduling units of one mesh.
struct UnitCounts {
  uint64_t forward = 0;
  uint64_t backward = 0;
};
} // namespace

/// The number of microbatches that the call counters of `func` name: they
/// may start at 0 or at 1. Zero if there is no counter.
static uint64_t countMicrobatches(func::FuncOp func) {
  uint64_t largest = 0;
  bool startsAtZero = false;
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    if (std::optional<uint32_t> counter = getCallCounter(fragment)) {
      largest = std::max<uint64_t>(largest, *counter);
      startsAtZero |= *counter == 0;
    }
  });
  return largest + startsAtZero;
}

static llvm::StringMap<UnitCounts> countUnits(func::FuncOp func) {
  llvm::StringMap<UnitCounts> counts;
  for (FragmentOp fragment : func.getOps<FragmentOp>()) {
    if (!isSchedulingUnit(fragment))
      continue;
    UnitCounts &ofMesh = counts[fragment.getMeshName()];
    ++(isForwardFragment(fragment) ? ofMesh.forward : ofMesh.backward);
  }
  return counts;
}

static void warnUnlessEqual(func::FuncOp func, StringRef direction,
                            StringRef meshName, uint64_t expected,
                            uint64_t found) {
  if (expected == found)
    return;
  func.emitWarning() << "number of " << direction
                     << " scheduling units on mesh \"" << meshName
                     << "\" differs from the number of microbatches: expected "
                     << expected << ", found " << found;
}

namespace {
struct SchedulingUnitsVerifierPass
    : mpmd::impl::SchedulingUnitsVerifierPassBase<SchedulingUnitsVerifierPass> {
  void runOnFunction(func::FuncOp func) override {
    markAllAnalysesPreserved();
    uint64_t microbatches = countMicrobatches(func);
    if (microbatches == 0)
      return;

    llvm::StringMap<UnitCounts> counts = countUnits(func);
    for (NamedMeshAttr mesh : getTopology(func).getMeshes()) {
      if (isCpuMesh(mesh.getName()))
        continue;
      UnitCounts ofMesh = counts.lookup(mesh.getName());
      warnUnlessEqual(func, "forward", mesh.getName(), microbatches,
                      ofMesh.forward);
      warnUnlessEqual(func, "backward", mesh.getName(), microbatches,
                      ofMesh.backward);
    }
  }
};
} // namespace
