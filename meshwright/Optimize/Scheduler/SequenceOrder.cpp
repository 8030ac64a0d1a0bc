//===- SequenceOrder.cpp - Chunks of a sequence in their order ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Forward, a chunk may read what the chunks before it give, as causal attention reads
// their keys and values. Backward it is the other way round. What a unit reads of
// other units is found by way of transfers and inferred fragments, each of which is
// looked at once for a unit.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/SequenceOrder.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// Where a unit is in its pipeline.
struct ChunkOfUnit {
  int64_t microbatch, chunk;
  bool isForward;
};
} // namespace

static ChunkOfUnit getChunk(FragmentOp unit, int64_t sequenceChunks) {
  int64_t counter = *getCallCounter(unit);
  return {counter / sequenceChunks, counter % sequenceChunks,
          isForwardFragment(unit)};
}

/// Where the program computes the result of a fragment.
static Location getLocOf(OpResult result) {
  auto fragment = cast<FragmentOp>(result.getOwner());
  Value returned =
      fragment.getBody()->getTerminator()->getOperand(result.getResultNumber());
  Operation *maker = returned.getDefiningOp();
  return maker ? maker->getLoc() : fragment.getLoc();
}

static std::string describe(const ChunkOfUnit &chunk, FragmentOp unit) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (chunk.isForward ? "forward" : "backward") << " of chunk "
     << chunk.chunk << " of microbatch " << chunk.microbatch;
  if (IntegerAttr stage = unit.getStageIdAttr())
    os << " in stage " << stage.getInt();
  return text;
}

static LogicalResult reportLookingAhead(FragmentOp unit, OpResult value,
                                        int64_t sequenceChunks,
                                        StringRef schedule) {
  auto maker = cast<FragmentOp>(value.getOwner());
  ChunkOfUnit reader = getChunk(unit, sequenceChunks);
  ChunkOfUnit giver = getChunk(maker, sequenceChunks);
  InFlightDiagnostic diag =
      mlir::emitError(getLocOf(value))
      << "the model looks ahead in the sequence: the " << describe(reader, unit)
      << " reads this value of type "
      << cast<MeshTensorType>(value.getType()).getRankedTensorType()
      << " of chunk " << giver.chunk << "; schedule " << schedule
      << " needs a causal model, in which a chunk reads only those before it: "
         "take a schedule without chunks of a sequence, or do not read it";
  diag.attachNote(unit.getLoc()) << "it is read here";
  return diag;
}

static LogicalResult verifyUnit(FragmentOp unit, int64_t sequenceChunks,
                                StringRef schedule) {
  ChunkOfUnit reader = getChunk(unit, sequenceChunks);
  SmallVector<Value> values(unit.getOperands());
  DenseSet<Operation *> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (!maker)
      continue;
    auto fragment = dyn_cast<FragmentOp>(maker);
    if (!fragment || !isSchedulingUnit(fragment)) {
      if (seen.insert(maker).second)
        llvm::append_range(values, maker->getOperands());
      continue;
    }
    ChunkOfUnit giver = getChunk(fragment, sequenceChunks);
    if (giver.microbatch != reader.microbatch ||
        giver.isForward != reader.isForward)
      continue;
    bool isLater = reader.isForward ? giver.chunk > reader.chunk
                                    : giver.chunk < reader.chunk;
    if (isLater)
      return reportLookingAhead(unit, cast<OpResult>(value), sequenceChunks,
                                schedule);
  }
  return success();
}

LogicalResult mlir::mpmd::verifyCausal(ArrayRef<MeshUnits> meshes,
                                       int64_t sequenceChunks,
                                       StringRef schedule) {
  for (const MeshUnits &mesh : meshes)
    for (FragmentOp unit : mesh.fragments)
      if (failed(verifyUnit(unit, sequenceChunks, schedule)))
        return failure();
  return success();
}
