//===- SliceInUnits.cpp - Batches that are cut where they are read --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The parts of a batch are cut once, before the first microbatch. Each part is a kernel of
// that program, so that the time to compile it grows with the number of microbatches, and
// all of them take memory until they are read:
//
//   %0:2 = fragment<"m", []> (%x) {return %x[0:4], %x[4:8]}
//   %1 = fragment<"m", ["f"]> (%0#0) (%a) {call_counter = 0} {return %a * 2}
//   %2 = fragment<"m", ["f"]> (%0#1) (%a) {call_counter = 1} {return %a * 2}
//   // becomes
//   %0:2 = fragment<"m", []> () {return 0, 4}
//   %1 = fragment<"m", ["f"]> (%0#0, %x) (%i, %b) {call_counter = 0} {return %b[%i:%i + 4] * 2}
//   %2 = fragment<"m", ["f"]> (%0#1, %x) (%i, %b) {call_counter = 1} {return %b[%i:%i + 4] * 2}
//
// The first rows are operands, so that microbatches still share their programs. Rows that
// devices divide among themselves are cut once: from other rows of each device. So are
// batches that the caller donates: the last reader may take their memory.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/IR/RebuildOp.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_SLICEINUNITSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// A result of a fragment that is some rows of what it reads.
struct Part {
  unsigned result;
  stablehlo::SliceOp slice;
};

/// The parts that a fragment cuts, by what it reads.
using Parts = llvm::MapVector<BlockArgument, SmallVector<Part>>;
} // namespace

/// Whether a slice leaves out rows of the first dimension, and nothing else.
static bool takesRows(stablehlo::SliceOp slice) {
  auto type = cast<RankedTensorType>(slice.getOperand().getType());
  return type.getRank() > 0 && type.hasStaticShape() &&
         type.getDimSize(0) <= std::numeric_limits<int32_t>::max() &&
         llvm::all_of(slice.getStrides(), [](int64_t s) { return s == 1; }) &&
         slice.getType().getShape().drop_front() ==
             type.getShape().drop_front();
}

/// Whether each device has the rows that it needs of a part.
static bool hasRows(MeshTensorType whole, MeshTensorType part) {
  sdy::TensorShardingAttr before = whole.getSharding(),
                          after = part.getSharding();
  if (whole.getMemoryKind() || part.getMemoryKind() || !before != !after)
    return false;
  if (!before)
    return true;
  auto ofWhole = before.getDimShardings(), ofPart = after.getDimShardings();
  return ofWhole.front().getAxes().empty() &&
         ofPart.front().getAxes().empty() &&
         llvm::equal(
             ofWhole.drop_front(), ofPart.drop_front(),
             [](sdy::DimensionShardingAttr a, sdy::DimensionShardingAttr b) {
               return a.getAxes() == b.getAxes();
             });
}

/// Whether only units that have others of their kind read a result, and can read more.
static bool isReadByUnits(OpResult result, const AlikeUnits &units) {
  return !result.use_empty() &&
         llvm::all_of(result.getUsers(), [&](Operation *user) {
           auto unit = dyn_cast<FragmentOp>(user);
           return unit && unit->getBlock() == result.getOwner()->getBlock() &&
                  isUserFragment(unit) && units.hasOthers(unit) &&
                  !unit.getInShardings() && !unit->hasAttr(kArgAttrsAttr) &&
                  !unit->hasAttr(kControlOperandStartIdxAttr);
         });
}

/// Whether a value is an argument of the program that stays as it is. Of any other one the
/// last reader may take the memory, and would be a program of its own.
static bool isKept(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : func::FuncOp();
  return func && !func.getArgAttr(argument.getArgNumber(), kBufferDonorAttr) &&
         !func.getArgAttr(argument.getArgNumber(), kAliasingOutputAttr);
}

/// The parts that units can cut themselves: all of what a fragment reads, or none.
static Parts findParts(FragmentOp fragment, const AlikeUnits &units,
                       int64_t minParts) {
  Parts parts;
  Operation *terminator = fragment.getBody()->getTerminator();
  for (OpOperand &returned : terminator->getOpOperands()) {
    auto slice = returned.get().getDefiningOp<stablehlo::SliceOp>();
    auto source =
        slice ? dyn_cast<BlockArgument>(slice.getOperand()) : BlockArgument();
    if (source && source.getOwner() == fragment.getBody() && takesRows(slice))
      parts[source].push_back({returned.getOperandNumber(), slice});
  }
  parts.remove_if([&](auto &entry) {
    Value read = fragment->getOperand(entry.first.getArgNumber());
    auto whole = cast<MeshTensorType>(read.getType());
    return int64_t(entry.second.size()) < minParts || !isKept(read) ||
           !llvm::all_of(
               entry.second,
               [&](Part &part) {
                 OpResult result = fragment->getResult(part.result);
                 return part.slice->hasOneUse() &&
                        part.slice.getType() ==
                            entry.second.front().slice.getType() &&
                        hasRows(whole,
                                cast<MeshTensorType>(result.getType())) &&
                        isReadByUnits(result, units);
               });
  });
  return parts;
}

static Value makeRow(OpBuilder &builder, Location loc, int32_t value) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return stablehlo::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, value));
}

/// The type of the first row of a part, which all devices of a mesh get.
static MeshTensorType getRowType(Type whole) {
  auto type = cast<MeshTensorType>(whole);
  auto row =
      RankedTensorType::get({}, IntegerType::get(whole.getContext(), 32));
  sdy::TensorShardingAttr sharding = type.getSharding();
  if (sharding)
    sharding = sdy::TensorShardingAttr::getFullyClosed(
        whole.getContext(), /*rank=*/0, sharding.getMeshOrRef());
  return MeshTensorType::get(whole.getContext(), type.getMeshName(), row,
                             sharding);
}

/// Has a unit cut what an operand was, of which it now gets the first row.
static void sliceInside(FragmentOp unit, unsigned operand, Value whole) {
  Block &body = *unit.getBody();
  BlockArgument row = body.getArgument(operand), source;
  auto part = cast<RankedTensorType>(row.getType());
  row.setType(getRowType(whole.getType()).getRankedTensorType());
  if (isSubstitute(unit)) // Its operands only say what other units read.
    return;
  for (OpOperand &known : unit->getOpOperands())
    if (known.get() == whole)
      source = body.getArgument(known.getOperandNumber());
  auto local = cast<MeshTensorType>(whole.getType()).getRankedTensorType();
  if (!source) {
    unit->insertOperands(unit->getNumOperands(), whole);
    source = body.addArgument(local, row.getLoc());
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Value> starts(local.getRank());
  starts.front() = row;
  for (Value &start : MutableArrayRef(starts).drop_front())
    start = makeRow(builder, row.getLoc(), 0);
  auto slice = stablehlo::DynamicSliceOp::create(
      builder, row.getLoc(), part, source, starts, part.getShape());
  row.replaceAllUsesExcept(slice, slice);
}

/// Lets a fragment return the first rows of parts, and those who read these cut them.
static void replaceParts(FragmentOp fragment, const Parts &parts,
                         RewriterBase &rewriter) {
  Operation *terminator = fragment.getBody()->getTerminator();
  SmallVector<Type> types(fragment->getResultTypes());
  SmallVector<Value> wholes(types.size());
  for (const auto &[source, cut] : parts)
    for (Part part : cut) {
      rewriter.setInsertionPoint(part.slice);
      Value row = makeRow(rewriter, part.slice.getLoc(),
                          part.slice.getStartIndices().front());
      terminator->setOperand(part.result, row);
      rewriter.eraseOp(part.slice);
      wholes[part.result] = fragment->getOperand(source.getArgNumber());
      types[part.result] = getRowType(wholes[part.result].getType());
    }
  BitVector isUnused(fragment->getNumOperands());
  for (BlockArgument argument : fragment.getBody()->getArguments())
    if (parts.contains(argument) && argument.use_empty())
      isUnused.set(argument.getArgNumber());
  dropArgAttrs(fragment, isUnused);
  fragment->eraseOperands(isUnused);
  fragment.getBody()->eraseArguments(isUnused);
  Operation *rebuilt =
      rebuildOp(fragment, fragment->getOperands(), types, rewriter);
  for (auto [before, result, whole] :
       llvm::zip_equal(fragment->getResults(), rebuilt->getResults(), wholes)) {
    SmallVector<std::pair<FragmentOp, unsigned>> readers;
    if (whole)
      for (OpOperand &use : before.getUses())
        readers.emplace_back(cast<FragmentOp>(use.getOwner()),
                             use.getOperandNumber());
    rewriter.replaceAllUsesWith(before, result);
    for (auto [unit, operand] : readers)
      sliceInside(unit, operand, whole);
  }
  rewriter.eraseOp(fragment);
}

namespace {
struct SliceInUnitsPass : mpmd::impl::SliceInUnitsPassBase<SliceInUnitsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    AlikeUnits units(func.front());
    IRRewriter rewriter(func.getContext());
    for (FragmentOp fragment :
         llvm::to_vector(func.front().getOps<FragmentOp>())) {
      if (!isInferredFragment(fragment) ||
          fragment->getNumOperands() != fragment.getBody()->getNumArguments())
        continue;
      Parts parts = findParts(fragment, units, minParts);
      for (const auto &[source, cut] : parts)
        numParts += cut.size();
      if (!parts.empty())
        replaceParts(fragment, parts, rewriter);
    }
  }
};
} // namespace
