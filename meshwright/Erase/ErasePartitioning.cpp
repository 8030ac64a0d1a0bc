//===- ErasePartitioning.cpp - Takes a program off its meshes -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a partitioned program computes does not depend on where it computes. So
// without meshes it is a plain program again, which any executor runs, and
// whose results are those of the program that was partitioned:
//
//   %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%arg: tensor<4xf32>) {
//     %3 = stablehlo.negate %arg : tensor<4xf32>
//     mpmd.return %3 : tensor<4xf32>
//   } : (!m1) -> !m1
//   %2 = mpmd.transfer %1 : (!m1) -> !m2
//   return %2 : !m2
//
// becomes
//
//   %1 = stablehlo.negate %0 : tensor<4xf32>
//   return %1 : tensor<4xf32>
//
// First every mesh tensor type turns into its global type, wherever it is.
// Then each op of the dialect has a plain counterpart of the same types, or
// none, and is replaced, bodies before the ops around them. At last go the
// attributes that spoke about meshes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/IR/SymbolUses.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#define GEN_PASS_DEF_ERASEPARTITIONINGPASS
#include "meshwright/Erase/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static void eraseMeshTensors(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](MeshTensorType type) -> Type { return type.getGlobalTensorType(); });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Puts the ops of the only body of `op` in its place.
static void inlineBody(Operation *op, IRRewriter &rewriter) {
  Block &body = op->getRegion(0).front();
  Operation *terminator = body.getTerminator();
  rewriter.inlineBlockBefore(&body, op, op->getOperands());
  rewriter.replaceOp(op, terminator->getOperands());
  rewriter.eraseOp(terminator);
}

/// reduce<K> x, y, z  becomes  K(K(x, y), z).
static LogicalResult eraseReduce(ReduceOp op, IRRewriter &rewriter) {
  ReductionType kind = op.getReduction();
  if (!canCompute(op))
    return op.emitError() << "cannot be computed on one device: StableHLO has "
                             "no op of kind "
                          << stringifyReductionType(kind) << " for "
                          << op.getType();
  Value combined = op.getTensors().front();
  for (Value next : op.getTensors().drop_front())
    combined = createReductionOp(rewriter, op.getLoc(), kind, combined, next)
                   ->getResult(0);
  if (op.getTensors().size() > 1)
    combined.setType(op.getType()); // Compatible with the inferred one.
  rewriter.replaceOp(op, combined);
  return success();
}

/// COMPAT(call-arity): Calls on meshes verify with fewer or more operands and results
/// than their callee has, plain ones do not.
static LogicalResult eraseCall(Operation *op, FlatSymbolRefAttr callee,
                               SymbolTableCollection &symbols,
                               IRRewriter &rewriter) {
  auto func = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, callee);
  if (!func || func.getNumArguments() != op->getNumOperands() ||
      func.getNumResults() != op->getNumResults())
    return op->emitError() << "cannot become a call: it has "
                           << op->getNumOperands() << " operands and "
                           << op->getNumResults()
                           << " results, expected as many as " << callee
                           << " has";
  rewriter.replaceOpWithNewOp<func::CallOp>(op, callee, op->getResultTypes(),
                                            op->getOperands());
  return success();
}

/// Appends to a body whose terminator returns the loop-carried values.
static void endIteration(Block &body, Value counter, ValueRange captured,
                         IRRewriter &rewriter) {
  Operation *terminator = body.getTerminator();
  Location loc = terminator->getLoc();
  rewriter.setInsertionPoint(terminator);
  auto type = cast<RankedTensorType>(counter.getType());
  unsigned width = type.getElementTypeBitWidth();
  Value one = stablehlo::ConstantOp::create(
      rewriter, loc, DenseElementsAttr::get(type, APInt(width, 1)));
  SmallVector<Value> next{
      stablehlo::AddOp::create(rewriter, loc, counter, one)};
  llvm::append_range(next, terminator->getOperands());
  llvm::append_range(next, captured);
  stablehlo::ReturnOp::create(rewriter, loc, next);
  rewriter.eraseOp(terminator);
}

/// The condition that the counter, the first argument, is not at the end.
static void fillCondition(Region &region, TypeRange types, Location loc,
                          uint32_t iterations, IRRewriter &rewriter) {
  SmallVector<Location> locs(types.size(), loc);
  Block *block = rewriter.createBlock(&region, {}, types, locs);
  Value counter = block->getArgument(0);
  auto type = cast<RankedTensorType>(counter.getType());
  Value end = stablehlo::ConstantOp::create(
      rewriter, loc, DenseElementsAttr::get(type, APInt(32, iterations)));
  Value more = stablehlo::CompareOp::create(rewriter, loc, counter, end,
                                            stablehlo::ComparisonDirection::NE);
  stablehlo::ReturnOp::create(rewriter, loc, more);
}

/// The loop becomes a while that also carries the counter, in front, and the
/// values of outside that the body reads, at the end.
static LogicalResult eraseFor(ForOp op, IRRewriter &rewriter) {
  auto indexType = dyn_cast<RankedTensorType>(op.getIndexArg().getType());
  if (!indexType || indexType.getRank() != 0 ||
      !(indexType.getElementType().isUnsignedInteger(32) ||
        indexType.getElementType().isSignlessInteger(32)))
    return op.emitError() << "cannot become a while: its index has type "
                          << op.getIndexArg().getType()
                          << "; expected tensor<ui32> or tensor<i32>";
  SetVector<Value> captured = getCaptures(op);
  for (Value value : getOutsideReads(op))
    if (!stablehlo::isCarried(value.getType()))
      return op.emitError()
             << "cannot become a while: it carries or reads a value of type "
             << value.getType()
             << "; expected tensors of StableHLO element types, memrefs of "
                "them, and tokens";

  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value zero = stablehlo::ConstantOp::create(
      rewriter, loc, DenseElementsAttr::get(indexType, APInt(32, 0)));
  SmallVector<Value> inits{zero};
  llvm::append_range(inits, op.getTensors());
  llvm::append_range(inits, captured);
  auto types = llvm::map_to_vector(inits, std::mem_fn(&Value::getType));
  auto loop = stablehlo::WhileOp::create(rewriter, loc, types, inits);
  fillCondition(loop.getCond(), types, loc, op.getIterations(), rewriter);

  rewriter.inlineRegionBefore(op.getRegion(), loop.getBody(),
                              loop.getBody().begin());
  Block &body = loop.getBody().front();
  BlockArgument index = body.getArguments().back();
  BlockArgument counter = body.insertArgument(0u, indexType, index.getLoc());
  rewriter.replaceAllUsesWith(index, counter);
  body.eraseArgument(index.getArgNumber());
  SmallVector<Value> inner;
  for (Value value : captured) {
    inner.push_back(body.addArgument(value.getType(), value.getLoc()));
    replaceAllUsesInRegionWith(value, inner.back(), loop.getBody());
  }
  endIteration(body, counter, inner, rewriter);
  rewriter.replaceOp(op, loop.getResults().slice(1, op->getNumResults()));
  return success();
}

/// Whether an op only says how its operand lies on a mesh.
static bool isShardingAnnotation(Operation *op) {
  return isa_and_present<sdy::SdyDialect>(op->getDialect()) &&
         op->getNumOperands() == 1 && op->getNumRegions() == 0 &&
         op->getNumResults() <= 1 && !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::all_of(op->getResultTypes(), [&](Type type) {
           return type == op->getOperand(0).getType();
         });
}

namespace {
struct ReplacedOps : RewriterBase::Listener {
  void notifyOperationReplaced(Operation *, ValueRange) override { ++count; }
  unsigned count = 0;
};
} // namespace

/// Fragments go, and only there can a call represent the ops of a shared body.
static void unshareAll(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](ModuleOp nested) { unshareBodies(nested, rewriter); });
}

static LogicalResult eraseOp(Operation *op, SymbolTableCollection &symbols,
                             IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<FragmentOp, NamedComputationOp, sdy::NamedComputationOp>(
          [&](auto region) {
            inlineBody(region, rewriter);
            return success();
          })
      .Case<AssignOp, UnassignOp, TransferOp, BroadcastOp, NamedTensorOp>(
          [&](auto move) {
            rewriter.replaceOp(move, move->getOperands());
            return success();
          })
      .Case<CallOp, FragmentCallOp>([&](auto call) {
        return eraseCall(call, call.getCalleeAttr(), symbols, rewriter);
      })
      .Case([&](ReduceOp reduce) { return eraseReduce(reduce, rewriter); })
      .Case([&](ForOp loop) { return eraseFor(loop, rewriter); })
      .Default([&](Operation *other) {
        if (isShardingAnnotation(other))
          rewriter.replaceOp(
              other, other->getOperands().take_front(other->getNumResults()));
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Whether a mesh represents devices that a single-device program has not.
static bool hasDevices(sdy::MeshAttr mesh) {
  return !mesh || !mesh.getAxes().empty();
}

static bool mentionsDevices(Attribute attr, const SymbolTable &symbols) {
  if (auto sharding = dyn_cast<sdy::TensorShardingAttr>(attr))
    return hasDevices(sharding.getMesh(symbols));
  auto list = dyn_cast<sdy::TensorShardingPerValueAttr>(attr);
  return list && llvm::any_of(list.getShardings(), [&](auto sharding) {
           return hasDevices(sharding.getMesh(symbols));
         });
}

static bool isPlacement(NamedAttribute attr, const SymbolTable &symbols) {
  static constexpr StringLiteral kNames[] = {
      kTopologyAttr,      kMeshShapeAttr,  kCallCounterAttr,
      kUnrollCounterAttr, kMemoryKindAttr, kReservedHbmBytesAttr};
  StringRef name = attr.getName();
  return name.starts_with("mpmd.") || llvm::is_contained(kNames, name) ||
         mentionsDevices(attr.getValue(), symbols);
}

static DictionaryAttr dropPlacement(DictionaryAttr attrs,
                                    const SymbolTable &symbols) {
  SmallVector<NamedAttribute> kept;
  llvm::copy_if(attrs, std::back_inserter(kept), [&](NamedAttribute attr) {
    return !isPlacement(attr, symbols);
  });
  return kept.size() == attrs.size()
             ? attrs
             : DictionaryAttr::get(attrs.getContext(), kept);
}

/// Returns whether there were any, in the dictionary of the op itself.
static bool erasePlacementAttrs(Operation *op, const SymbolTable &symbols) {
  DictionaryAttr attrs = op->getDiscardableAttrDictionary();
  DictionaryAttr left = dropPlacement(attrs, symbols);
  if (left != attrs)
    op->setDiscardableAttrs(left);
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return left != attrs;
  SmallVector<DictionaryAttr> args, results;
  func.getAllArgAttrs(args);
  func.getAllResultAttrs(results);
  auto drop = [&](DictionaryAttr dict) {
    return dict ? dropPlacement(dict, symbols) : dict;
  };
  func.setAllArgAttrs(llvm::map_to_vector(args, drop));
  func.setAllResultAttrs(llvm::map_to_vector(results, drop));
  return left != attrs;
}

/// Erases the meshes that nothing names any more. Ops of unknown dialects may
/// name any.
static void eraseUnusedMeshes(ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      meshwright::findSymbolUses(module.getBodyRegion());
  if (!uses)
    return;
  DenseSet<StringAttr> used;
  for (SymbolTable::SymbolUse use : *uses)
    used.insert(use.getSymbolRef().getRootReference());
  for (auto mesh : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>()))
    if (hasDevices(mesh.getMesh()) && !used.contains(mesh.getSymNameAttr()))
      mesh.erase();
}

namespace {
struct ErasePartitioningPass
    : mpmd::impl::ErasePartitioningPassBase<ErasePartitioningPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!isPartitioned(module))
      return markAllAnalysesPreserved();

    unshareAll(module);
    eraseMeshTensors(module);
    ReplacedOps replaced;
    IRRewriter rewriter(&getContext(), &replaced);
    // There, ops may read themselves.
    (void)eraseUnreachableBlocks(rewriter, module->getRegions());
    SymbolTableCollection callees;
    WalkResult result = module.walk([&](Operation *op) {
      return failed(eraseOp(op, callees, rewriter)) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
    });
    numReplaced += replaced.count;
    if (result.wasInterrupted())
      return signalPassFailure();
    SymbolTable symbols(module);
    module.walk([&](Operation *op) {
      numStripped += erasePlacementAttrs(op, symbols);
    });
    eraseUnusedMeshes(module);
  }

private:
  /// Whether anything in the module is about several meshes; other modules keep
  /// their shardings.
  static bool isPartitioned(ModuleOp module) {
    return module
        .walk([](Operation *op) {
          auto func = dyn_cast<func::FuncOp>(op);
          bool found = isa_and_present<MpmdDialect>(op->getDialect()) ||
                       (func && isDistributedFunction(func));
          return found ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }
};
} // namespace
