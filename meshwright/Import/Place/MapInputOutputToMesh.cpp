//===- MapInputOutputToMesh.cpp -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The user may say where arguments and results of the program live. Types of
// the signature change at once; inside, an unassign or assign is at the
// border until the passes after this one have placed everything else:
//
//   input 0@p, output 0@q
//   func @f(%x: T) -> T                    func @f(%x: p) -> q
//     %0 = stablehlo.negate %x               %u = mpmd.unassign %x
//     return %0                              %0 = stablehlo.negate %u
//                                            %a = mpmd.assign %0
//                                            return %a
//
// A memory kind in a new type makes the attribute that said so redundant.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MemoryKinds.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Import/Place/MeshAssignment.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/DebugLog.h"

#define GEN_PASS_DEF_MAPINPUTOUTPUTTOMESHPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

#define DEBUG_TYPE "mpmd-map-input-output-to-mesh"

/// Reports indices that the signature does not have, values that are no plain
/// tensors, and meshes that the topology does not have. `what` is "input" or "output".
static LogicalResult verifyAssignment(func::FuncOp func, StringRef what,
                                      TypeRange types,
                                      const IndexAssignment &assignment) {
  for (auto &[index, target] : assignment.entries) {
    if (index < 0 || index >= static_cast<int64_t>(types.size()))
      return func.emitError()
             << what << " index " << index << " of assignment \"" << index
             << "@" << target << "\" is out of range; the function has "
             << types.size() << " " << what << "s";
    if (!isa<RankedTensorType>(types[index]))
      return func.emitError()
             << what << " " << index << " cannot be assigned to mesh \""
             << target << "\", it is not a ranked tensor but " << types[index];
    StringRef mesh = splitMemoryKind(target).mesh;
    if (!getMeshByName(getTopology(func), mesh))
      return func.emitError()
             << what << " " << index << " cannot be assigned to mesh \"" << mesh
             << "\", which is not in the topology of @" << func.getSymName()
             << "; expected one of its meshes";
  }
  return success();
}

static MeshTensorType getAssignedType(Type tensorType, StringRef target) {
  MLIRContext *context = tensorType.getContext();
  auto [mesh, kind] = splitMemoryKind(target);
  return MeshTensorType::get(
      context, mesh, cast<RankedTensorType>(tensorType), /*sharding=*/{},
      kind ? StringAttr::get(context, *kind) : StringAttr());
}

static void assignInputs(func::FuncOp func, const IndexAssignment &assignment) {
  OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
  for (auto &[index, target] : assignment.entries) {
    BlockArgument arg = func.getArgument(index);
    Type tensorType = arg.getType();
    arg.setType(getAssignedType(tensorType, target));
    auto unassign = UnassignOp::create(builder, arg.getLoc(), tensorType, arg,
                                       builder.getStringAttr("user_in"));
    arg.replaceAllUsesExcept(unassign.getResult(), unassign);
  }
}

static void assignOutputs(func::FuncOp func,
                          const IndexAssignment &assignment) {
  Operation *terminator = func.front().getTerminator();
  OpBuilder builder(terminator);
  for (auto &[index, target] : assignment.entries) {
    OpOperand &returned = terminator->getOpOperand(index);
    Value value = returned.get();
    returned.set(AssignOp::create(builder,
                                  getResultInfoLoc(func, index, value.getLoc()),
                                  getAssignedType(value.getType(), target),
                                  value, builder.getStringAttr("user_out")));
  }
}

/// Returns whether the memory kind of `type` makes the attribute redundant.
static bool replacesMemoryKind(func::FuncOp func, Type type, Attribute attr) {
  auto meshType = dyn_cast<MeshTensorType>(type);
  if (!attr || !meshType || !meshType.getMemoryKind())
    return false;
  if (attr != meshType.getMemoryKind())
    LDBG() << "@" << func.getName() << ": memory kind " << attr
           << " gives way to the assigned " << meshType.getMemoryKind();
  return true;
}

static void dropMemoryKinds(func::FuncOp func) {
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (replacesMemoryKind(func, type, func.getArgAttr(i, kMemoryKindAttr)))
      func.removeArgAttr(i, kMemoryKindAttr);
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (replacesMemoryKind(func, type, func.getResultAttr(i, kMemoryKindAttr)))
      func.removeResultAttr(
          i, StringAttr::get(func.getContext(), kMemoryKindAttr));
}

/// Reports what names `func`, whose signature changes.
static LogicalResult verifyNotNamed(func::FuncOp func, ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(func, module);
  if (!uses || uses->empty())
    return success();
  return uses->begin()->getUser()->emitError()
         << "names @" << func.getSymName()
         << ", whose inputs and outputs are assigned to meshes; expected that "
            "nothing in the module calls it";
}

namespace {
struct MapInputOutputToMeshPass
    : mpmd::impl::MapInputOutputToMeshPassBase<MapInputOutputToMeshPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!isMpmdProgram(func))
        continue;
      if (failed(verifyAssignment(func, "input", func.getArgumentTypes(),
                                  inputAssignment)) ||
          failed(verifyAssignment(func, "output", func.getResultTypes(),
                                  outputAssignment)))
        return signalPassFailure();
      bool isChanged = !inputAssignment.getValue().entries.empty() ||
                       !outputAssignment.getValue().entries.empty();
      if (isChanged && failed(verifyNotNamed(func, getOperation())))
        return signalPassFailure();
      assignInputs(func, inputAssignment);
      assignOutputs(func, outputAssignment);
      numAssigned += inputAssignment.getValue().entries.size() +
                     outputAssignment.getValue().entries.size();
      updateFunctionType(func);
      dropMemoryKinds(func);
    }
  }
};
} // namespace
