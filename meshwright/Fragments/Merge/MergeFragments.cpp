//===- MergeFragments.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

FragmentOp mpmd::mergeFragments(FragmentOp producer, FragmentOp consumer,
                                RewriterBase &rewriter) {
  assert(producer.getMeshName() == consumer.getMeshName() &&
         hasConsistentStages(producer, consumer) && "caller must check");
  FragmentGroup group(producer), added(consumer);
  group.append(added);
  return group.build(
      rewriter, consumer, MergedAttributes::ofNone({producer, consumer}),
      rewriter.getFusedLoc({producer.getLoc(), consumer.getLoc()}));
}

LogicalResult mpmd::verifySameStage(FragmentOp producer, FragmentOp consumer) {
  if (hasConsistentStages(producer, consumer))
    return success();
  InFlightDiagnostic diag =
      consumer.emitError()
      << "fragment of stage " << *consumer.getStageId()
      << " cannot be merged with one of stage " << *producer.getStageId()
      << "; give both the same stage or leave out one of them";
  diag.attachNote(producer.getLoc()) << "the other fragment is here";
  return diag;
}

//===----------------------------------------------------------------------===//
// FragmentMerger
//===----------------------------------------------------------------------===//

unsigned FragmentMerger::getStep(FragmentOp fragment, Location loc) {
  auto [it, isNew] = stepOf.try_emplace(fragment, steps.size());
  if (isNew)
    steps.push_back({loc, {}});
  return it->second;
}

FragmentOp FragmentMerger::build(FragmentGroup &group, FragmentOp place,
                                 const MergedAttributes &attributes,
                                 RewriterBase &rewriter) {
  SmallVector<Location> locs = group.getLocs();
  Step step;
  for (auto [member, loc] : llvm::zip_equal(group.getMembers(), locs))
    step.joined.push_back(getStep(member, loc));

  FragmentOp merged = group.build(rewriter, place, attributes, locs.front());
  stepOf[merged] = steps.size();
  steps.push_back(std::move(step));
  return merged;
}

void FragmentMerger::setLocations(func::FuncOp func) {
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    auto it = stepOf.find(fragment);
    if (it == stepOf.end() || steps[it->second].loc)
      return;
    SmallVector<Location> locs;
    SmallVector<unsigned> stack{it->second};
    while (!stack.empty()) {
      const Step &step = steps[stack.pop_back_val()];
      if (step.loc)
        locs.push_back(step.loc);
      else
        llvm::append_range(stack, llvm::reverse(step.joined));
    }
    fragment->setLoc(FusedLoc::get(func.getContext(), locs));
  });
}
