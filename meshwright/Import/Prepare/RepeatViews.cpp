//===- RepeatViews.cpp - What backwards read is not copied first ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a backward reads of its forward is a result of the forward, and JAX saves also
// what is a weight in another shape. Each microbatch would copy the weight for that, and
// keep the copy until its backward:
//
//   %r:2 = f (%w, %x) {              %r = f (%w, %x) {
//     %v = reshape %w                  %v = reshape %w
//     return dot(%x, %v), %v           return dot(%x, %v)
//   }                                }
//   f(1) (%r#0, %r#1) {              f(1) (%r#0, %w) {
//     dot(…, …)                        dot(…, reshape …)
//   }                                }
//
// The pieces of a weight that the body of a manual computation has are views, too,
// where nothing has to be gathered for them.
//
// Of what the forward computes itself, and returns only transposed, it returns what it
// has, and the backward transposes. A product reads an operand either way; a result that
// is kept has to be written in the one way that was asked for:
//
//   %r:2 = f (%x) {                  %r:2 = f (%x) {
//     %k = dot(%x, …)                  %k = dot(%x, …)
//     %t = transpose %k                %t = transpose %k
//     return dot(%x, %t), %t           return dot(%x, %t), %k
//   }                                }
//   f(1) (%r#0, %r#1) {              f(1) (%r#0, %r#1) {
//     dot(…, …)                        dot(…, transpose …)
//   }                                }
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/IR/RebuildOp.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <optional>

#define GEN_PASS_DEF_REPEATVIEWSPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Whether an op shows the elements of its operand, or of none, in another shape
/// or order.
static bool isViewOp(Operation *op) {
  return isa<stablehlo::ReshapeOp, stablehlo::TransposeOp,
             stablehlo::BroadcastInDimOp>(op) ||
         (isNegligibleOp(op) && getCaptures(op).empty());
}

/// Whether devices have nothing in common of a value that is split like this. What
/// is split otherwise is never gathered for it.
static bool isSplitCompletely(sdy::TensorShardingAttr sharding, Operation *op) {
  sdy::MeshAttr mesh = sharding.getMesh(op);
  if (!mesh || mesh.isMaximal())
    return false;
  int64_t pieces = 1;
  for (sdy::DimensionShardingAttr dim : sharding.getDimShardings())
    for (sdy::AxisRefAttr axis : dim.getAxes())
      pieces *= axis.getSize(mesh);
  return pieces == mesh.getTotalSize();
}

namespace {
/// A value that consists of views, as a tree of ops.
class View {
public:
  /// Follows a value of a block to arguments of it.
  static std::optional<View> find(Value value) {
    View view;
    view.value = value;
    if (!view.follow(value))
      return std::nullopt;
    return view;
  }

  /// Makes the value once more; `map` has the arguments that it reads.
  Value repeat(OpBuilder &builder, IRMapping &map) const;

  llvm::SetVector<BlockArgument> arguments;

private:
  bool follow(Value value);
  bool followIntoManual(OpResult result);

  Value value;
  llvm::SetVector<Value> steps; ///< Results of ops, each after what it reads.
};
} // namespace

bool View::follow(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    arguments.insert(argument);
    return true;
  }
  if (steps.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  bool isView =
      isa<sdy::ManualComputationOp>(op)
          ? followIntoManual(cast<OpResult>(value))
          : isViewOp(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
              return follow(operand);
            });
  if (isView)
    steps.insert(value);
  return isView;
}

static Value getReturned(sdy::ManualComputationOp op, OpResult result) {
  return op.getBodyTerminator()->getOperand(result.getResultNumber());
}

bool View::followIntoManual(OpResult result) {
  auto manual = cast<sdy::ManualComputationOp>(result.getOwner());
  std::optional<View> inner = find(getReturned(manual, result));
  if (!inner || inner->arguments.empty())
    return false;
  return llvm::all_of(inner->arguments, [&](BlockArgument piece) {
    unsigned index = piece.getArgNumber();
    return isSplitCompletely(manual.getInShardings().getShardings()[index],
                             manual) &&
           follow(manual.getOperand(index));
  });
}

/// The manual computation of one result alone, which is a view.
static Value repeatManual(OpResult result, OpBuilder &builder, IRMapping &map) {
  auto manual = cast<sdy::ManualComputationOp>(result.getOwner());
  std::optional<View> inner = View::find(getReturned(manual, result));
  SmallVector<Value> operands;
  SmallVector<sdy::TensorShardingAttr> inShardings;
  for (BlockArgument piece : inner->arguments) {
    unsigned index = piece.getArgNumber();
    operands.push_back(map.lookup(manual.getOperand(index)));
    inShardings.push_back(manual.getInShardings().getShardings()[index]);
  }
  MLIRContext *context = manual.getContext();
  auto repeated = sdy::ManualComputationOp::create(
      builder, manual.getLoc(), TypeRange(result.getType()), operands,
      sdy::TensorShardingPerValueAttr::get(context, inShardings),
      sdy::TensorShardingPerValueAttr::get(
          context,
          manual.getOutShardings().getShardings()[result.getResultNumber()]),
      manual.getManualAxesAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&repeated.getBody());
  IRMapping innerMap;
  for (BlockArgument piece : inner->arguments)
    innerMap.map(piece, body->addArgument(piece.getType(), piece.getLoc()));
  sdy::ReturnOp::create(builder, manual.getLoc(),
                        inner->repeat(builder, innerMap));
  return repeated.getResult(0);
}

Value View::repeat(OpBuilder &builder, IRMapping &map) const {
  for (Value step : steps) {
    Operation *op = step.getDefiningOp();
    if (isa<sdy::ManualComputationOp>(op))
      map.map(step, repeatManual(cast<OpResult>(step), builder, map));
    else
      map.map(step, builder.clone(*op, map)->getResult(0));
  }
  return map.lookup(value);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct Reader {
  NamedComputationOp computation;
  unsigned operand;
};
} // namespace

/// Where other computations of the name, which are on the same mesh, read a result:
/// later operands first, so that those before them keep their place.
static SmallVector<Reader> getReaders(OpResult result) {
  auto maker = cast<NamedComputationOp>(result.getOwner());
  SmallVector<Reader> readers;
  for (OpOperand &use : result.getUses()) {
    auto reader = dyn_cast<NamedComputationOp>(use.getOwner());
    if (reader && reader.getName() == maker.getName())
      readers.push_back({reader, use.getOperandNumber()});
  }
  llvm::stable_sort(readers, [](const Reader &reader, const Reader &other) {
    return reader.operand > other.operand;
  });
  return readers;
}

/// Lets a computation make what it reads of `maker`.
static void repeatIn(const Reader &reader, NamedComputationOp maker,
                     const View &view) {
  Operation *computation = reader.computation;
  Block &body = computation->getRegion(0).front();
  IRMapping map;
  for (BlockArgument argument : view.arguments) {
    Value operand = maker->getOperand(argument.getArgNumber());
    computation->insertOperands(computation->getNumOperands(), operand);
    map.map(argument, body.addArgument(operand.getType(), argument.getLoc()));
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  body.getArgument(reader.operand)
      .replaceAllUsesWith(view.repeat(builder, map));
  body.eraseArgument(reader.operand);
  computation->eraseOperand(reader.operand);
}

/// Takes results away that nothing reads, from the body, too.
static Operation *dropResults(Operation *op, const llvm::BitVector &dropped,
                              RewriterBase &rewriter) {
  SmallVector<Value> kept;
  for (OpResult result : op->getResults())
    if (!dropped.test(result.getResultNumber()))
      kept.push_back(result);
  op->getRegion(0).front().getTerminator()->eraseOperands(dropped);
  rewriter.setInsertionPoint(op);
  Operation *smaller =
      rebuildOp(op, op->getOperands(), TypeRange(ValueRange(kept)), rewriter);
  rewriter.replaceAllUsesWith(kept, smaller->getResults());
  rewriter.eraseOp(op);
  return smaller;
}

static llvm::BitVector getUnused(Operation *op) {
  llvm::BitVector unused(op->getNumResults());
  for (OpResult result : op->getResults())
    if (result.use_empty())
      unused.set(result.getResultNumber());
  return unused;
}

/// Lets manual computations return no view that nothing reads any more.
static void dropUnusedViews(NamedComputationOp computation,
                            RewriterBase &rewriter) {
  SmallVector<sdy::ManualComputationOp> all(
      computation.getRegion().front().getOps<sdy::ManualComputationOp>());
  for (sdy::ManualComputationOp manual : all) {
    llvm::BitVector unused = getUnused(manual);
    if (unused.none() || unused.all())
      continue;
    SmallVector<sdy::TensorShardingAttr> shardings;
    for (auto [index, sharding] : llvm::enumerate(manual.getOutShardings()))
      if (!unused.test(index))
        shardings.push_back(sharding);
    manual.setOutShardingsAttr(
        sdy::TensorShardingPerValueAttr::get(manual.getContext(), shardings));
    dropResults(manual, unused, rewriter);
  }
}

//===----------------------------------------------------------------------===//
// Transposed results
//===----------------------------------------------------------------------===//

namespace {
/// A value with the elements of another one in another order.
struct Reordered {
  explicit Reordered(Value value);

  Value source;
  SmallVector<Operation *> steps; ///< Ops from the value back to its source.
};
} // namespace

Reordered::Reordered(Value value) : source(value) {
  while (Operation *op = source.getDefiningOp()) {
    if (!isa<stablehlo::ReshapeOp, stablehlo::TransposeOp>(op))
      break;
    steps.push_back(op);
    source = op->getOperand(0);
  }
}

/// Whether a computation had better return the source. A reshaped result costs nothing,
/// unless the source is a result as well.
static bool isBetterReordered(const Reordered &reordered,
                              Operation *terminator) {
  return llvm::any_of(reordered.steps, llvm::IsaPred<stablehlo::TransposeOp>) ||
         (!reordered.steps.empty() &&
          llvm::is_contained(terminator->getOperands(), reordered.source));
}

/// Lets a computation read the source in place of the value.
static void reorderIn(const Reader &reader, const Reordered &reordered) {
  Block &body = reader.computation->getRegion(0).front();
  BlockArgument argument = body.getArgument(reader.operand);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Value value = argument;
  SmallPtrSet<Operation *, 2> made;
  for (Operation *step : llvm::reverse(reordered.steps)) {
    IRMapping map;
    map.map(step->getOperand(0), value);
    Operation *again = builder.clone(*step, map);
    made.insert(again);
    value = again->getResult(0);
  }
  argument.replaceAllUsesExcept(value, made);
  argument.setType(reordered.source.getType());
}

/// Returns the source of a result that only computations of its name read; whether it is better.
static bool returnSource(OpResult result, ArrayRef<Reader> readers) {
  Operation *terminator =
      result.getOwner()->getRegion(0).front().getTerminator();
  unsigned index = result.getResultNumber();
  Reordered reordered(terminator->getOperand(index));
  if (!result.hasNUses(readers.size()) ||
      !isBetterReordered(reordered, terminator))
    return false;
  for (const Reader &reader : readers)
    reorderIn(reader, reordered);
  terminator->setOperand(index, reordered.source);
  result.setType(reordered.source.getType());
  return true;
}

namespace {
struct RepeatViewsPass : mpmd::impl::RepeatViewsPassBase<RepeatViewsPass> {
  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(&getContext());
    SmallVector<NamedComputationOp> computations;
    func.walk([&](NamedComputationOp op) { computations.push_back(op); });
    for (NamedComputationOp computation : computations)
      repeatViewsOf(computation, rewriter);
  }

  void repeatViewsOf(NamedComputationOp computation, RewriterBase &rewriter) {
    Operation *terminator = computation.getRegion().front().getTerminator();
    llvm::BitVector dropped(computation->getNumResults());
    for (auto [result, returned] : llvm::zip_equal(computation->getResults(),
                                                   terminator->getOperands())) {
      SmallVector<Reader> readers = getReaders(result);
      if (readers.empty() || isa<BlockArgument>(returned))
        continue;
      std::optional<View> view = View::find(returned);
      if (!view) {
        numTransposed += returnSource(result, readers);
        continue;
      }
      for (const Reader &reader : readers)
        repeatIn(reader, computation, *view);
      ++numViews;
      if (result.use_empty())
        dropped.set(result.getResultNumber());
    }
    if (dropped.any() && !dropped.all())
      dropUnusedViews(
          cast<NamedComputationOp>(dropResults(computation, dropped, rewriter)),
          rewriter);
  }
};
} // namespace
