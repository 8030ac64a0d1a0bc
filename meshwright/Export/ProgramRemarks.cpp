//===- ProgramRemarks.cpp - Why microbatches are several programs ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/ProgramRemarks.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Fragments/Merge/MergeRemarks.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::mpmd;

/// In what a unit differs from another one that is alike.
static StringRef getDifference(FragmentOp unit, FragmentOp other) {
  if (unit->getOperandTypes() != other->getOperandTypes())
    return "what they read";
  if (unit->getResultTypes() != other->getResultTypes())
    return "what they return";
  if (unit->getAttr(kArgAttrsAttr) != other->getAttr(kArgAttrsAttr))
    return "which arguments they may overwrite, or in which memory these are";
  if (unit->getAttr(kResAttrsAttr) != other->getAttr(kResAttrsAttr))
    return "the memory or layout of their results";
  return "what they compute";
}

static void remarkOn(ArrayRef<FragmentOp> units, ArrayRef<FragmentOp> largest) {
  std::string counters;
  llvm::raw_string_ostream os(counters);
  llvm::interleaveComma(units, os,
                        [&](FragmentOp unit) { os << *getCallCounter(unit); });
  FragmentOp unit = units.front();
  remark::missed(unit.getLoc(),
                 remark::RemarkOpts::name("not shared").category("programs"))
      << describe(unit) << " on mesh \"" << unit.getMeshName()
      << "\" is another program for microbatch " << counters << " than for "
      << std::to_string(*getCallCounter(largest.front())) << ": they differ in "
      << getDifference(unit, largest.front()).str();
}

/// Says why what is computed once is no part of the units that it is for, or comes after.
static void remarkOnOnce(FragmentOp fragment, const AlikeUnits &alike) {
  auto isUnit = [&](Operation *op) {
    auto unit = dyn_cast_if_present<FragmentOp>(op);
    return unit && isUserFragment(unit) && alike.hasOthers(unit);
  };
  bool isRead = llvm::any_of(fragment->getUsers(), isUnit);
  bool reads = llvm::any_of(fragment->getOperands(), [&](Value operand) {
    return isUnit(operand.getDefiningOp());
  });
  if (isRead == reads)
    return;
  remark::passed(fragment.getLoc(),
                 remark::RemarkOpts::name("separate").category("programs"))
      << describe(fragment) << " on mesh \""
      << remark::metric("mesh", fragment.getMeshName())
      << "\" is a separate program: it runs once, "
      << (isRead ? "before the first" : "after the last")
      << " microbatch, which would be another program than the others with it";
}

void mpmd::remarkOnPrograms(ModuleOp module,
                            ArrayRef<SmallVector<FragmentOp>> groups) {
  if (!module.getContext()->getRemarkEngine())
    return;
  DenseMap<Operation *, unsigned> groupOf;
  for (auto [number, group] : llvm::enumerate(groups))
    for (FragmentOp fragment : group)
      groupOf[fragment] = number;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isDeclaration())
      continue;
    AlikeUnits alike(func.front());
    for (ArrayRef<FragmentOp> kind : alike.getKinds()) {
      llvm::MapVector<unsigned, SmallVector<FragmentOp>> programs;
      for (FragmentOp unit : kind)
        programs[groupOf.lookup(unit)].push_back(unit);
      ArrayRef<FragmentOp> largest = programs.front().second;
      for (const auto &[group, units] : programs)
        if (units.size() > largest.size())
          largest = units;
      for (const auto &[group, units] : programs)
        if (units.front() != largest.front())
          remarkOn(units, largest);
    }
    for (ArrayRef<FragmentOp> group : groups)
      if (FragmentOp first = group.front();
          isInferredFragment(first) && first->getParentOp() == func)
        remarkOnOnce(first, alike);
  }
}
