//===- LowerToFragmentCalls.cpp - One function per distinct program -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An executor compiles functions, and compiling is dear: fragments that compute
// the same become calls of one function.
//
//   %0 = fragment<"m", ["f"]> (%x) {B}
//   %1 = fragment<"m", ["g"]> (%0) {B}
//   // becomes
//   %0 = fragment_call<"m", ["f"]> @p0(%x)
//   %1 = fragment_call<"m", ["g"]> @p0(%0)
//   func @p0 {B}
//
// First everything that could be wrong is checked, then fragments are grouped
// and groups named, then each group gives the body of its first member away and
// its members become calls. No body is copied but one that fragments share.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Export/Lowering/FragmentGroups.h"
#include "meshwright/Export/Lowering/FragmentNames.h"
#include "meshwright/Export/ProgramRemarks.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Fragments/Overlap.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/raw_ostream.h"

#define GEN_PASS_DEF_LOWERTOFRAGMENTCALLSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static constexpr StringLiteral kDefaultModuleName = "main";

namespace {
/// Fragments that become calls of one function.
struct Program {
  SmallVector<FragmentOp> members;
  std::string name;
  sdy::MeshAttr mesh;
};
} // namespace

/// What a fragment may be and a call may not.
static LogicalResult checkLowerable(FragmentOp fragment) {
  if (!isa<func::FuncOp>(fragment->getParentOp()))
    return fragment.emitError()
           << "fragment in a loop cannot become a call; unroll the loop first, "
              "for example by mpmd-unroll-for-loops";
  auto isToken = [](Type type) { return !isa<MeshTensorType>(type); };
  if (llvm::any_of(fragment->getOperandTypes(), isToken) ||
      llvm::any_of(fragment->getResultTypes(), isToken))
    return fragment.emitError()
           << "fragment that takes or gives a token cannot become a call; "
              "mpmd-sink-create-token-into-fragments removes tokens";
  return success(succeeded(getMeshOrError(fragment, fragment.getMeshName())));
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static SmallVector<Program> planPrograms(ModuleOp module,
                                         ArrayRef<FragmentOp> fragments,
                                         StringRef moduleName) {
  bool allForward = isAllForward(fragments);
  SmallVector<Program> programs;
  SmallVector<SmallVector<FragmentOp>> groups = groupFragments(fragments);
  remarkOnPrograms(module, groups);
  for (SmallVector<FragmentOp> &group : groups) {
    FragmentOp first = group.front();
    std::string name =
        getFunctionName(programs.size(), group, allForward, moduleName);
    sdy::MeshAttr mesh = *getMeshOrError(first, first.getMeshName());
    programs.push_back({std::move(group), std::move(name), mesh});
  }
  return programs;
}

/// What one fragment is made of: `[f, g]`, with phases if `showPhases`.
static void printOrigins(FragmentOp fragment, bool showPhases,
                         llvm::raw_ostream &os) {
  auto print = [&](UserOriginAttr origin) {
    os << origin.getUserName().getValue();
    if (!showPhases)
      return;
    int64_t count = origin.getTransposeCount();
    if (count > 1)
      os << "(TransposeCount=" << count << ')';
    else
      os << (count == 0 ? "(fwd)" : "(bwd)");
  };
  os << '[';
  llvm::interleaveComma(fragment.getOrigin().getAsRange<UserOriginAttr>(), os,
                        print);
  os << ']';
}

static void printFragment(FragmentOp fragment, StringRef functionName,
                          bool showPhases, llvm::raw_ostream &os) {
  os << "  - " << functionName << " from program with origins ";
  printOrigins(fragment, showPhases, os);
  if (IntegerAttr stage = fragment.getStageIdAttr())
    os << ", stage " << stage.getValue().getSExtValue();
  if (std::optional<uint32_t> counter = getCallCounter(fragment))
    os << ", call counter " << *counter;
  os << '\n';
}

/// Lists, for each mesh, what it will run in which order.
static void printPlan(ArrayRef<FragmentOp> fragments,
                      ArrayRef<Program> programs, TopologyAttr topology,
                      StringRef moduleName, llvm::raw_ostream &os) {
  llvm::DenseMap<Operation *, StringRef> functionNames;
  llvm::StringMap<SmallVector<FragmentOp>> fragmentsOnMesh;
  for (const Program &program : programs)
    for (FragmentOp member : program.members)
      functionNames[member] = program.name;
  for (FragmentOp fragment : fragments)
    fragmentsOnMesh[fragment.getMeshName()].push_back(fragment);
  bool showPhases = !isAllForward(fragments);
  for (NamedMeshAttr mesh : topology.getMeshes()) {
    os << "Module " << moduleName << " on mesh " << mesh.getName()
       << " will execute these programs:\n";
    for (FragmentOp fragment : fragmentsOnMesh[mesh.getName()])
      printFragment(fragment, functionNames.at(fragment), showPhases, os);
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// The most that a member wants; null if none wants any.
static IntegerAttr getReservedBytes(const Program &program) {
  IntegerAttr most;
  for (FragmentOp member : program.members) {
    auto bytes = member->getAttrOfType<IntegerAttr>(kReservedHbmBytesAttr);
    if (bytes && bytes.getType().isSignlessInteger(64) &&
        (!most || bytes.getInt() > most.getInt()))
      most = bytes;
  }
  return most;
}

static func::FuncOp createFunction(const Program &program) {
  func::FuncOp func = meshwright::makeFragmentFunction(
      program.members.front(), program.name, program.mesh);
  if (IntegerAttr bytes = getReservedBytes(program))
    func->setAttr(kReservedHbmBytesAttr, bytes);
  return func;
}

/// Makes all manual computations in a function refer to one mesh symbol.
/// Returns whether one referred to another.
static bool rebindManualComputations(func::FuncOp func,
                                     FlatSymbolRefAttr mesh) {
  bool changed = false;
  auto rebind = [&](sdy::TensorShardingPerValueAttr shardings) {
    auto rebound = llvm::map_to_vector(
        shardings.getShardings(), [&](sdy::TensorShardingAttr sharding) {
          FlatSymbolRefAttr symbol = sharding.getMeshSymName();
          if (!symbol || symbol == mesh)
            return sharding;
          changed = true;
          return sharding.replaceMesh(mesh).replaceUnreducedAxes(
              sharding.getUnreducedAxes(), sdy::ReductionKind::Sum);
        });
    return sdy::TensorShardingPerValueAttr::get(func.getContext(), rebound);
  };
  func.walk([&](sdy::ManualComputationOp op) {
    op.setInShardingsAttr(rebind(op.getInShardings()));
    op.setOutShardingsAttr(rebind(op.getOutShardings()));
  });
  return changed;
}

/// They have been verified on the meshes that they named before.
static LogicalResult verifyManualComputations(func::FuncOp func,
                                              sdy::MeshAttr mesh) {
  auto verify = [&](sdy::ManualComputationOp op, TypeRange types,
                    sdy::TensorShardingPerValueAttr shardings, StringRef what) {
    for (auto [type, sharding] : llvm::zip(types, shardings))
      if (failed(sdy::verifySharding(type, sharding, mesh, [&] {
            return op.emitOpError() << what << " - ";
          })))
        return false;
    return true;
  };
  WalkResult result = func.walk([&](sdy::ManualComputationOp op) {
    bool fits =
        verify(op, op->getOperandTypes(), op.getInShardings(), "operand") &&
        verify(op, op->getResultTypes(), op.getOutShardings(), "result");
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Declares the mesh of a program under the name that fragments know it by, for the
/// manual computations in its function.
static LogicalResult declareMesh(const Program &program, StringRef name,
                                 func::FuncOp func, Location loc,
                                 SymbolTable &symbols) {
  Operation *known = symbols.lookup(name);
  if (auto mesh = dyn_cast_if_present<sdy::MeshOp>(known))
    return verifyManualComputations(func, mesh.getMesh());
  if (known)
    return (emitError(loc) << "manual computations of this fragment need an "
                              "`sdy.mesh` called @"
                           << name << ", but something else has that name")
               .attachNote(known->getLoc())
           << "this has it; give it or the mesh another name";
  Block *body = cast<ModuleOp>(symbols.getOp()).getBody();
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  auto mesh = sdy::MeshOp::create(builder, loc, name, program.mesh);
  symbols.insert(mesh, body->begin());
  return verifyManualComputations(func, program.mesh);
}

/// The function has the shardings of its types as attributes, which are verified on
/// the meshes that they name; types are on that of the topology.
static LogicalResult verifySharding(FragmentOp fragment,
                                    sdy::TensorShardingAttr sharding,
                                    RankedTensorType type, StringRef where,
                                    const SymbolTable &symbols) {
  sdy::MeshAttr mesh = sharding.getMesh(symbols);
  if (!mesh)
    return fragment.emitError()
           << where << " has a sharding on mesh " << sharding.getMeshOrRef()
           << ", which this module does not declare; expected an sdy.mesh "
              "of that name";
  return sdy::verifySharding(type, sharding, mesh, [&] {
    return fragment.emitError()
           << where << " has a sharding that does not fit mesh "
           << sharding.getMeshOrRef() << ", which it names: ";
  });
}

/// Where a type has no sharding, the function has that of the list.
static LogicalResult verifyShardings(FragmentOp fragment, StringRef list,
                                     TypeRange types,
                                     const SymbolTable &symbols) {
  auto entries = fragment->getAttrOfType<ArrayAttr>(list);
  for (auto [index, type] : llvm::enumerate(types)) {
    auto onMesh = cast<MeshTensorType>(type);
    Attribute sharding = onMesh.getSharding();
    StringRef where = "a type";
    if (!sharding && entries && index < entries.size()) {
      where = list;
      sharding = cast<DictionaryAttr>(entries[index]).get(sdy::kShardingAttr);
    }
    if (!sharding)
      continue;
    auto known = dyn_cast<sdy::TensorShardingAttr>(sharding);
    if (!known)
      return fragment.emitError()
             << where << " has the " << sdy::kShardingAttr << ' ' << sharding
             << "; expected an #sdy.sharding";
    if (failed(verifySharding(fragment, known, onMesh.getRankedTensorType(),
                              where, symbols)))
      return failure();
  }
  return success();
}

/// And it has what is known of arguments and results.
static LogicalResult verifyValueAttributes(FragmentOp fragment) {
  for (StringRef name : {kArgAttrsAttr, kResAttrsAttr}) {
    auto list = fragment->getAttrOfType<ArrayAttr>(name);
    if (!list)
      continue;
    for (auto attrs : list.getAsRange<DictionaryAttr>())
      for (NamedAttribute attr : attrs)
        if (!attr.getName().strref().contains('.'))
          return fragment.emitError()
                 << name << " has the attribute " << attr.getName()
                 << ", which no argument or result of a function can have; "
                    "expected the name of a dialect before it, and a dot";
  }
  return success();
}

/// And it knows no meshes; a loop in a fragment may hold what does.
static LogicalResult verifyBody(FragmentOp fragment) {
  WalkResult result = fragment.getBody()->walk([](Operation *op) {
    if (!isa<AssignOp, FragmentOp, UnassignOp>(op))
      return WalkResult::advance();
    op->emitError() << "is in a fragment, which becomes a function without "
                       "meshes; move it, or the loop around it, out of the "
                       "fragment";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static void replaceByCall(FragmentOp fragment, StringRef callee) {
  OpBuilder builder(fragment);
  auto call = FragmentCallOp::create(
      builder, fragment.getLoc(), fragment->getResultTypes(),
      fragment->getOperands(), fragment.getOriginAttr(),
      fragment.getMeshNameAttr(),
      FlatSymbolRefAttr::get(fragment.getContext(), callee));
  if (Attribute remat = fragment->getAttr(kRematAttr))
    call->setAttr(kRematAttr, remat);
  if (Attribute overlapped = fragment->getAttr(kOverlappedAttr))
    call->setAttr(kOverlappedAttr, overlapped);
  if (std::optional<uint32_t> counter = getCallCounter(fragment);
      counter && fragment->getParentOp()->hasAttr(kKeepsCountersAttr))
    setCallCounter(call, *counter);
  fragment->replaceAllUsesWith(call);
  fragment->erase();
}

/// What has the name of a program already is called instead, if it can be.
static LogicalResult checkCallable(Operation *known, const Program &program) {
  FragmentOp first = program.members.front();
  Block &body = *first.getBody();
  auto type = FunctionType::get(first.getContext(), body.getArgumentTypes(),
                                body.getTerminator()->getOperandTypes());
  auto func = dyn_cast<func::FuncOp>(known);
  if (func && func.getFunctionType() == type &&
      func->getAttr(kMeshShapeAttr) == program.mesh)
    return success();
  return (first.emitError()
          << "becomes a call of @" << program.name
          << ", but something else has that name; expected a function of type "
          << type << " with " << kMeshShapeAttr << " = " << program.mesh)
             .attachNote(known->getLoc())
         << "this has it; give it another name";
}

static LogicalResult lower(const Program &program, SymbolTable &symbols) {
  FragmentOp first = program.members.front();
  if (Operation *known = symbols.lookup(program.name)) {
    if (failed(checkCallable(known, program)))
      return failure();
  } else {
    if (failed(verifyShardings(first, kArgAttrsAttr, first->getOperandTypes(),
                               symbols)) ||
        failed(verifyShardings(first, kResAttrsAttr, first->getResultTypes(),
                               symbols)) ||
        failed(verifyValueAttributes(first)) || failed(verifyBody(first)))
      return failure();
    func::FuncOp func = createFunction(program);
    symbols.insert(func);
    StringRef mesh = first.getMeshName();
    if (rebindManualComputations(
            func, FlatSymbolRefAttr::get(func.getContext(), mesh)) &&
        failed(declareMesh(program, mesh, func, first.getLoc(), symbols)))
      return failure();
  }
  for (FragmentOp member : program.members)
    replaceByCall(member, program.name);
  return success();
}

namespace {
struct LowerToFragmentCallsPass
    : mpmd::impl::LowerToFragmentCallsPassBase<LowerToFragmentCallsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<FragmentOp> fragments = getFragments(module);
    bool lowerable = true;
    for (FragmentOp fragment : fragments)
      lowerable &= succeeded(checkLowerable(fragment));
    if (!lowerable)
      return signalPassFailure();

    SymbolTable symbols(module);
    StringRef moduleName = module.getSymName().value_or(kDefaultModuleName);
    SmallVector<Program> programs =
        planPrograms(getOperation(), fragments, moduleName);
    if (auto main = symbols.lookup<func::FuncOp>("main");
        verboseLogging && main && isMpmdFunction(main))
      printPlan(fragments, programs, getTopology(main), moduleName,
                llvm::errs());
    for (const Program &program : programs)
      if (failed(lower(program, symbols)))
        return signalPassFailure();
    eraseUncalledBodies(module);
    numFragments += fragments.size();
    numFunctions += programs.size();
  }
};
} // namespace
