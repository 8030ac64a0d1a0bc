//===- MergeFragments.h - Makes one fragment out of two ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_MERGE_MERGEFRAGMENTS_H
#define MESHWRIGHT_FRAGMENTS_MERGE_MERGEFRAGMENTS_H

#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mpmd {

/// Replaces `producer` and `consumer`, two fragments of one block, by one that
/// runs the body of `producer` and then that of `consumer`, and returns it. The
/// names are only roles: `consumer` need not read anything of `producer`.
///
///   %0 = fragment<"m", ["f"]> (%x)     {body f}
///   %1 = fragment<"m", ["g"]> (%0, %y) {body g}
///   // becomes
///   %1 = fragment<"m", ["f", "g"]> (%x, %y) {body f; body g}
///
/// Requires the same mesh, stages that agree where both have one (see
/// verifySameStage), and that nothing before `consumer` uses `producer`; a
/// caller that breaks the latter moves the merged fragment up.
///
/// Operands are those of `producer` without repetition, then what `consumer`
/// reads besides. Only where `producer` has one argument and one result whose
/// single use is a data operand of `consumer`, the operands of `consumer` stay
/// as they are and that of `producer` takes the place of its result.
///
/// Results are those of `producer` that something else than `consumer` uses,
/// then all of `consumer`.
///
/// The merged fragment is where `consumer` was. It has the union of the
/// origins, the common mesh, the stage that either has, the control operands of
/// both, and the two locations fused. No other attribute survives: callers put
/// back what should.
///
/// Cost: linear in operands, results and their uses, and in the smaller of the
/// two bodies.
FragmentOp mergeFragments(FragmentOp producer, FragmentOp consumer,
                          RewriterBase &rewriter);

/// Reports, at `consumer`, two fragments whose stages differ.
LogicalResult verifySameStage(FragmentOp producer, FragmentOp consumer);

/// Merges fragments of one function again and again. To fuse locations at every
/// merge would copy all those collected so far, and the context would keep
/// every copy; this class remembers what was merged and fuses once.
class FragmentMerger {
public:
  /// Replaces the members of `group` by one fragment in front of `place`, which
  /// is one of them.
  FragmentOp build(FragmentGroup &group, FragmentOp place,
                   const MergedAttributes &attributes, RewriterBase &rewriter);

  /// Gives the fragments of `func` that came out of merges their locations: all
  /// those of the originals, in order. Call it once, when all is merged.
  void setLocations(func::FuncOp func);

private:
  /// A step has the location of an original, or the steps that it joins.
  struct Step {
    LocationAttr loc;
    SmallVector<unsigned, 2> joined;
  };

  unsigned getStep(FragmentOp fragment, Location loc);

  SmallVector<Step> steps;
  /// Looked up by fragments that exist, hence never by a stale key: a fragment
  /// that reuses the address of an erased one came out of a merge itself.
  llvm::DenseMap<Operation *, unsigned> stepOf;
};

} // namespace mlir::mpmd

#endif
