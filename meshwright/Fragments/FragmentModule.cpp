//===- FragmentModule.cpp - One fragment as a program of its own ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/SignatureShardings.h"
#include "meshwright/Text/Utf8.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

/// The entries of `arg_attrs` or `res_attrs`, each with the sharding that the
/// type of its value has.
static SmallVector<DictionaryAttr>
getSignatureAttrs(FragmentOp fragment, StringRef list, TypeRange types) {
  auto entries = fragment->getAttrOfType<ArrayAttr>(list);
  SmallVector<DictionaryAttr> attrs;
  for (auto [index, type] : llvm::enumerate(types)) {
    NamedAttrList entry;
    if (entries && index < entries.size())
      entry = NamedAttrList(dyn_cast<DictionaryAttr>(entries[index]));
    // Tokens have no sharding.
    if (auto tensor = dyn_cast<MeshTensorType>(type))
      if (auto sharding = tensor.getSharding())
        entry.set(sdy::kShardingAttr, sharding);
    attrs.push_back(entry.getDictionary(fragment.getContext()));
  }
  return attrs;
}

func::FuncOp meshwright::makeFragmentFunction(FragmentOp fragment,
                                              StringRef name,
                                              sdy::MeshAttr mesh) {
  Operation *terminator = fragment.getBody()->getTerminator();
  Builder attrs(fragment.getContext());
  auto func = func::FuncOp::create(
      fragment.getLoc(), name,
      attrs.getFunctionType(fragment.getRegion().getArgumentTypes(),
                            terminator->getOperandTypes()));
  func->setAttr(kMeshShapeAttr, mesh);
  func.setAllArgAttrs(
      getSignatureAttrs(fragment, kArgAttrsAttr, fragment->getOperandTypes()));
  func.setAllResultAttrs(
      getSignatureAttrs(fragment, kResAttrsAttr, fragment->getResultTypes()));
  func.getBody().takeBody(fragment.getRegion());
  OpBuilder builder(terminator);
  func::ReturnOp::create(builder, terminator->getLoc(),
                         terminator->getOperands());
  terminator->erase();
  return func;
}

llvm::SetVector<Operation *> meshwright::collectSymbols(func::FuncOp function,
                                                        SymbolTable &symbols) {
  llvm::SetVector<Operation *> result;
  SmallVector<Operation *> worklist = {function};
  while (!worklist.empty()) {
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(worklist.pop_back_val());
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses) {
      Operation *symbol = symbols.lookup(use.getSymbolRef().getRootReference());
      if (symbol && symbol != function && result.insert(symbol))
        worklist.push_back(symbol);
    }
  }
  return result;
}

/// The mesh that the shardings of a signature name; a new one if none does.
static sdy::MeshOp getSignatureMesh(func::FuncOp function, ModuleOp module,
                                    sdy::MeshAttr shape) {
  for (auto mesh : module.getOps<sdy::MeshOp>())
    if (mesh.getMesh() == shape)
      return mesh;
  OpBuilder builder(module.getContext());
  auto mesh = sdy::MeshOp::create(builder, function.getLoc(), "mesh", shape);
  // Has another name if a mesh of the user's has this one.
  SymbolTable(module).insert(mesh, module.getBody()->begin());
  return mesh;
}

static void replicateTheRest(func::FuncOp function, ModuleOp module,
                             sdy::MeshAttr shape) {
  sdy::MeshOp mesh;
  llvm::SmallDenseMap<int64_t, sdy::TensorShardingAttr> ofRank;
  auto replicated = [&](Type type) -> sdy::TensorShardingAttr {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return {};
    if (!mesh)
      mesh = getSignatureMesh(function, module, shape);
    sdy::TensorShardingAttr &sharding = ofRank[tensor.getRank()];
    if (!sharding)
      sharding = sdy::TensorShardingAttr::getFullyClosed(
          function.getContext(), tensor.getRank(), mesh.getSymName());
    return sharding;
  };
  sdy::updateSignatureShardings(
      function, [&](const sdy::SignatureEntry &entry) {
        return entry.sharding ? entry.sharding : replicated(entry.type);
      });
}

/// Gives a mesh that represents the one the fragment runs on its sizes: the
/// reference mesh of the program, whose axes may have other sizes there, or a
/// mesh of other devices. One with a device order of its own, or with other
/// axes over as many devices, is meant as it is.
static void adaptMesh(sdy::MeshOp mesh, sdy::MeshAttr shape) {
  sdy::MeshAttr own = mesh.getMesh();
  auto name = [](sdy::MeshAxisAttr axis) { return axis.getName(); };
  bool hasSameAxes = llvm::equal(llvm::map_range(own.getAxes(), name),
                                 llvm::map_range(shape.getAxes(), name));
  if (own == shape || own.getAxes().empty() || !own.getDeviceIds().empty() ||
      (!hasSameAxes && own.getTotalSize() == shape.getTotalSize()))
    return;
  mesh.setMeshAttr(shape);
  // Repeats the old sizes.
  mesh->removeAttr("stablehlo.mesh");
}

/// Whether an op is valid can depend on the mesh: shardings are attributes of ops and of what
/// functions take and return, and a module verifies what its symbols are used for.
static bool dependsOnMesh(Operation *op) {
  return isa_and_nonnull<sdy::SdyDialect>(op->getDialect()) ||
         isa<ModuleOp, func::FuncOp>(op) ||
         !op->getRawDictionaryAttrs().empty();
}

/// What was valid in the whole program need not be on the mesh of a fragment.
static LogicalResult verifyOnMesh(ModuleOp module, StringRef name,
                                  sdy::MeshAttr shape) {
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          diagnostic.attachNote()
              << "in the program of fragment @" << name
              << ", which runs on a mesh of axes " << shape
              << "; shardings may use these axes only, with these sizes";
        return failure(); // Lets the user's own handler report it.
      });
  WalkResult result = module.walk([](Operation *op) {
    return WalkResult(
        success(!dependsOnMesh(op) ||
                succeeded(verify(op, /*verifyRecursively=*/false))));
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkIsPlain(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    if (!isa_and_nonnull<MpmdDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitError() << "cannot be part of a fragment's program: expected only "
                       "operations that run on one mesh";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

FailureOr<OwningOpRef<ModuleOp>>
meshwright::makeFragmentModule(func::FuncOp function, SymbolTable &symbols) {
  if (failed(checkIsPlain(function)))
    return failure();
  auto shape = function->getAttrOfType<sdy::MeshAttr>(kMeshShapeAttr);
  if (!shape)
    return function.emitError()
           << "is not the program of a fragment: expected attribute \""
           << kMeshShapeAttr << "\"";
  llvm::SetVector<Operation *> used = collectSymbols(function, symbols);

  OwningOpRef<ModuleOp> module =
      ModuleOp::create(function.getLoc(), function.getSymName());
  auto builder = OpBuilder::atBlockEnd(module->getBody());
  for (Operation *symbol : used)
    if (isa<sdy::MeshOp>(symbol))
      adaptMesh(cast<sdy::MeshOp>(builder.clone(*symbol)), shape);
  auto main = cast<func::FuncOp>(builder.clone(*function));
  main->removeAttr(kMeshShapeAttr);
  main->removeAttr(kReservedHbmBytesAttr);
  main.setPublic();
  for (Operation *symbol : used)
    if (!isa<sdy::MeshOp>(symbol))
      builder.clone(*symbol);

  // A helper of the user's may have the name that the entry needs.
  SymbolTable ownSymbols(*module);
  if (Operation *other = ownSymbols.lookup("main"); other && other != main)
    if (failed(ownSymbols.renameToUnique(other, {})))
      return other->emitError() << "cannot be renamed";
  if (main.getSymName() != "main")
    if (failed(ownSymbols.rename(main, "main")))
      return function.emitError() << "cannot be renamed to @main";
  replicateTheRest(main, *module, shape);
  if (failed(verifyOnMesh(*module, function.getSymName(), shape)))
    return failure();
  return module;
}

std::string meshwright::getFragmentFileStem(StringRef functionName) {
  // Leaves space for an extension within what file systems accept.
  constexpr size_t kMaxLength = 200;
  // Readers know the name from schedule.json.
  std::string stem = toUtf8(functionName).substr(0, kMaxLength);
  for (char &c : stem)
    if (!llvm::isAlnum(c) && !StringRef("._-").contains(c))
      c = '_';
  return stem;
}
