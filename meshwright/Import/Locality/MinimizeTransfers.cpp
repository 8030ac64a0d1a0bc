//===- MinimizeTransfers.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Edits a program by what ValueMeshes and StateClasses say of it. A value that is
// needed on another mesh is cut off from there, so that inference brings neither
// what it is computed from to the reader nor the reader to it:
//
//   %n = sum …                    %n = sum …
//   %q = divide %g, %n   becomes  %a = assign %n : m2
//                                 %u = unassign (transfer %a : m1)
//                                 %q = divide %g, %u
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/StateClasses.h"
#include "mlir/IR/IRMapping.h"

#define GEN_PASS_DEF_MINIMIZETRANSFERSPASS
#include "meshwright/Import/Locality/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Arguments that are put on a mesh may decide where others belong.
static constexpr int kMaxRounds = 4;

namespace {
/// Brings values to other meshes, each once.
class Materializer {
public:
  Materializer(func::FuncOp func, const ValueMeshes &meshes)
      : meshes(meshes), builder(func.getContext()) {}

  /// `value` on a mesh; the value itself where it is there already, can be
  /// anywhere, or must not be moved.
  Value get(Value value, unsigned mesh);

  /// Cuts `value` off from its plain readers and the return: inference computes
  /// it on its own mesh.
  void keep(Value value) { keep(value, meshes.get(value).find_first()); }
  void keep(Value value, unsigned mesh);

  /// Lets each mesh have what can be anywhere, such as the count of a step. Inference
  /// would put it where the first kept value is that is computed from it, and then finds
  /// no mesh for what reads it beside values of others.
  void allowCopies(Value value);

  unsigned numTransfers = 0, numRepeated = 0;

private:
  Value repeat(Operation *op, unsigned mesh);
  Value transfer(Value value, unsigned mesh);
  Value pin(Value value);
  AssignOp assign(Value value, unsigned mesh);

  const ValueMeshes &meshes;
  OpBuilder builder;
  DenseMap<std::pair<Value, unsigned>, Value> made;
};
} // namespace

Value Materializer::get(Value value, unsigned mesh) {
  MeshBits bits = meshes.get(value);
  if (bits.empty() || bits.test(mesh))
    return value;
  if (Value known = made.lookup({value, mesh}))
    return known;
  Operation *op = value.getDefiningOp();
  // Of one value in several shapes only one is sent.
  bool isRepeated = op && isMeshlessOp(op) && isCheapToRepeat(op) &&
                    (meshes.getTravelBytes(value) < getTensorBytes(value) ||
                     isa<stablehlo::ReshapeOp, stablehlo::TransposeOp>(op));
  Value result = isRepeated ? repeat(op, mesh) : transfer(value, mesh);
  made[{value, mesh}] = result;
  return result;
}

Value Materializer::repeat(Operation *op, unsigned mesh) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand, mesh));
  builder.setInsertionPointAfter(op);
  ++numRepeated;
  return builder.clone(*op, mapping)->getResult(0);
}

/// `value` on its own mesh. What was kept elsewhere before its inputs were sent away is
/// a reader.
Value Materializer::pin(Value value) {
  if (auto unassign = value.getDefiningOp<UnassignOp>())
    return unassign.getTensor();
  if (AssignOp known = findKept(value))
    if (meshes.get(value).anyCommon(
            meshes.getNumbers().getBits(known.getType().getMeshName())))
      return known;
  return assign(value, meshes.get(value).find_first());
}

AssignOp Materializer::assign(Value value, unsigned mesh) {
  builder.setInsertionPointAfterValue(value);
  return AssignOp::create(builder, value.getLoc(), value,
                          meshes.getNumbers().getName(mesh),
                          builder.getStringAttr(kFewestBytesOrigin));
}

void Materializer::keep(Value value, unsigned mesh) {
  auto isPlain = [](OpOperand &use) {
    return !isa_and_nonnull<MpmdDialect>(use.getOwner()->getDialect());
  };
  if (llvm::none_of(value.getUses(), isPlain))
    return;
  auto kept = UnassignOp::create(builder, value.getLoc(), assign(value, mesh),
                                 builder.getStringAttr(kFewestBytesOrigin));
  value.replaceUsesWithIf(kept.getResult(), isPlain);
}

void Materializer::allowCopies(Value value) {
  if (llvm::none_of(value.getUsers(), isMeshlessOp))
    return;
  builder.setInsertionPointAfterValue(value);
  auto copied = BroadcastOp::create(builder, value.getLoc(), value);
  value.replaceAllUsesExcept(copied, copied);
}

Value Materializer::transfer(Value value, unsigned mesh) {
  Value source = pin(value);
  auto type = cast<MeshTensorType>(source.getType());
  if (type.isOnHost())
    return value;
  builder.setInsertionPointAfterValue(source);
  auto transfer = TransferOp::create(
      builder, value.getLoc(),
      MeshTensorType::getFullyReplicated(builder.getContext(),
                                         meshes.getNumbers().getName(mesh),
                                         type.getRankedTensorType()),
      source);
  ++numTransfers;
  return UnassignOp::create(builder, value.getLoc(), transfer,
                            builder.getStringAttr(kFewestBytesOrigin));
}

/// Lets an op that is computed on `mesh` read everything there.
static void bringInputs(Operation *op, unsigned mesh,
                        Materializer &materializer) {
  for (Value input : getOutsideReads(op)) {
    if (!isa<RankedTensorType>(input.getType()))
      continue;
    Value there = materializer.get(input, mesh);
    if (there != input)
      op->walk(
          [&](Operation *nested) { nested->replaceUsesOfWith(input, there); });
  }
}

/// Inference finds arguments wherever they are needed, which counts where other
/// values travel, and knows nothing of what regions read. What is on one mesh
/// stays there.
static void keepValues(func::FuncOp func, const ValueMeshes &meshes,
                       bool hasConflicts, Materializer &materializer) {
  auto keep = [&](Value value) {
    if (meshes.get(value).count() == 1)
      materializer.keep(value);
  };
  for (BlockArgument arg : func.getArguments()) {
    if (!hasConflicts)
      break;
    keep(arg);
    if (isa<RankedTensorType>(arg.getType()) && meshes.get(arg).empty())
      materializer.allowCopies(arg);
    for (Operation *user : llvm::make_early_inc_range(arg.getUsers()))
      if (auto unassign = dyn_cast<UnassignOp>(user))
        keep(unassign);
  }
  for (Operation &op : llvm::make_early_inc_range(func.front()))
    if (isMeshlessOp(&op) && !getCaptures(&op).empty())
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()))
          keep(result);
}

/// Sends what an assign or a call needs on another mesh, if it is less than what
/// it is computed from.
static void sendResult(OpOperand &use, const ValueMeshes &meshes,
                       Materializer &materializer) {
  Value value = use.get();
  Operation *producer = value.getDefiningOp();
  MeshBits readers = meshes.getReaders(use), bits = meshes.get(value);
  if (!producer || !isMeshlessOp(producer) || bits.empty() ||
      readers.count() != 1 || readers.anyCommon(bits) ||
      meshes.getSourceBytes(value) <= meshes.getTravelBytes(value))
    return;
  use.set(materializer.get(value, readers.find_first()));
}

/// Whether inference would bring an argument to other meshes than the one where
/// it belongs, or nowhere. What no fragment reads would be brought to a sum across
/// meshes that is made of it.
static bool isReadElsewhere(BlockArgument arg, const MeshBits &home,
                            const ValueMeshes &meshes) {
  if (meshes.get(arg).empty() && meshes.hasConflicts())
    return true;
  return llvm::any_of(arg.getUses(), [&](OpOperand &use) {
    return isa<func::ReturnOp>(use.getOwner()) ? meshes.get(arg) != home
                                               : meshes.getReaders(use) != home;
  });
}

namespace {
struct MinimizeTransfersPass
    : mpmd::impl::MinimizeTransfersPassBase<MinimizeTransfersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshDataFlow flow(module);
    ValueMeshes::Callees callees;
    for (func::FuncOp func : getCallees(module)) {
      if (isSkipped(func))
        continue;
      eraseConsents(func);
      moveLittle(func, flow, callees);
      ValueMeshes meshes(func, flow, callees);
      Materializer materializer(func, meshes);
      for (Operation &op : llvm::make_early_inc_range(func.front()))
        if (meshes.isWholeSum(&op))
          keepParts(&op, meshes, materializer);
      callees[func] = summarize(func, ValueMeshes(func, flow, callees));
    }
    for (func::FuncOp func : getEntryPoints(module)) {
      if (isSkipped(func))
        continue;
      eraseConsents(func);
      for (int round = 1;; ++round) {
        ValueMeshes meshes(func, flow, callees);
        StateClasses classes(func, meshes);
        if (round < kMaxRounds && placeArguments(func, meshes, classes))
          continue;
        placeSums(func, meshes, classes);
        placeResults(func, meshes, classes);
        break;
      }
      moveLittle(func, flow, callees);
    }
  }

  /// What a callee reads without a fragment, such as the weights that training began
  /// with, belongs with what it meets there.
  static ValueMeshes::Callee summarize(func::FuncOp func, ValueMeshes meshes) {
    ValueMeshes::Callee callee = meshes.summarize();
    StateClasses classes(func, meshes);
    for (auto [arg, readers] :
         llvm::zip_equal(func.getArguments(), callee.arguments))
      if (std::optional<unsigned> mesh = classes.getMesh(arg);
          mesh && readers.empty())
        readers =
            meshes.getNumbers().getBits(meshes.getNumbers().getName(*mesh));
    return callee;
  }

  static bool isSkipped(func::FuncOp func) {
    return getTopology(func).getMeshes().size() < 2;
  }

  /// Types the arguments that inference would put elsewhere. Returns whether
  /// there are any.
  bool placeArguments(func::FuncOp func, const ValueMeshes &meshes,
                      const StateClasses &classes) {
    bool changes = false;
    auto builder = OpBuilder::atBlockBegin(&func.front());
    for (BlockArgument arg : func.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      std::optional<unsigned> mesh = type ? classes.getMesh(arg) : std::nullopt;
      if (!mesh)
        continue;
      StringRef name = meshes.getNumbers().getName(*mesh);
      MeshBits home = meshes.getNumbers().getBits(name);
      MeshBits readers = meshes.get(arg);
      // Of the meshes that read it inference takes the first.
      if ((readers.any() && readers.find_first() == int(*mesh)) ||
          (!readers.empty() && !readers.test(*mesh)) ||
          !isReadElsewhere(arg, home, meshes))
        continue;
      arg.setType(
          MeshTensorType::getFullyReplicated(&getContext(), name, type));
      auto unassign =
          UnassignOp::create(builder, arg.getLoc(), arg,
                             builder.getStringAttr(kFewestBytesOrigin));
      arg.replaceAllUsesExcept(unassign.getResult(), unassign);
      ++numArguments;
      changes = true;
    }
    if (changes)
      updateFunctionType(func);
    return changes;
  }

  /// Keeps what a sum across meshes adds where it is: inference would bring a result of
  /// a call to the mesh of the sum, in each microbatch.
  static void keepParts(Operation *sum, const ValueMeshes &meshes,
                        Materializer &materializer) {
    SetVector<Operation *> sums;
    sums.insert(sum);
    for (size_t next = 0; next != sums.size(); ++next)
      for (Value part : sums[next]->getOperands()) {
        Operation *op = part.getDefiningOp();
        if (op && meshes.isAcrossMeshes(op) && !meshes.getChoice(op))
          sums.insert(op);
        else if (meshes.get(part).count() == 1)
          materializer.keep(part);
      }
  }

  /// Computes a sum across meshes, such as the gradient of a weight that these share,
  /// where the state is that it meets, and for all readers.
  static void placeSums(func::FuncOp func, const ValueMeshes &meshes,
                        const StateClasses &classes) {
    Materializer materializer(func, meshes);
    for (Operation &op : llvm::make_early_inc_range(func.front())) {
      if (!meshes.isWholeSum(&op))
        continue;
      Value sum = op.getResult(0);
      keepParts(&op, meshes, materializer);
      std::optional<unsigned> mesh = classes.getMesh(sum);
      if (mesh && meshes.get(sum).test(*mesh))
        materializer.keep(sum, *mesh);
    }
  }

  /// Assigns results that can be anywhere to where they belong.
  static void placeResults(func::FuncOp func, const ValueMeshes &meshes,
                           const StateClasses &classes) {
    func::ReturnOp ret = getReturnOp(func);
    OpBuilder builder(ret);
    for (OpOperand &output : ret->getOpOperands()) {
      Value value = output.get();
      if (!isa<RankedTensorType>(value.getType()) || !meshes.get(value).empty())
        continue;
      std::optional<unsigned> mesh = classes.getMesh(value);
      if (!mesh)
        continue;
      auto loc =
          getResultInfoLoc(func, output.getOperandNumber(), value.getLoc());
      output.set(AssignOp::create(builder, loc, value,
                                  meshes.getNumbers().getName(*mesh),
                                  builder.getStringAttr(kFewestBytesOrigin)));
    }
    updateFunctionType(func);
  }

  /// What is sent from one of several meshes is on that alone then, which may part it
  /// from other readers: they are visited again. Returns the last analysis.
  ValueMeshes moveLittle(func::FuncOp func, const MeshDataFlow &flow,
                         const ValueMeshes::Callees &callees) {
    bool hasConflicts = false;
    for (int round = 1;; ++round) {
      ValueMeshes meshes(func, flow, callees);
      hasConflicts |= meshes.hasConflicts();
      Materializer materializer(func, meshes);
      for (Operation &op : llvm::make_early_inc_range(func.front())) {
        if (std::optional<unsigned> mesh = meshes.getChoice(&op))
          bringInputs(&op, *mesh, materializer);
        else if (isa<AssignOp, CallOp>(op))
          for (OpOperand &use : op.getOpOperands())
            sendResult(use, meshes, materializer);
      }
      numTransfers += materializer.numTransfers;
      numRepeated += materializer.numRepeated;
      if (materializer.numTransfers > 0 && round < kMaxRounds)
        continue;
      if (isEntryPointFunction(func))
        keepValues(func, meshes, hasConflicts, materializer);
      return meshes;
    }
  }
};
} // namespace
