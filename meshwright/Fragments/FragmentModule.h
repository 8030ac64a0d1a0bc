//===- FragmentModule.h - One fragment as a program of its own --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_FRAGMENTMODULE_H
#define MESHWRIGHT_FRAGMENTS_FRAGMENTMODULE_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace meshwright {

/// The function of a fragment, whose body it takes: with the mesh it runs on,
/// and the shardings that the types of its operands and results have. It is in
/// no module yet.
mlir::func::FuncOp makeFragmentFunction(mlir::mpmd::FragmentOp fragment,
                                        llvm::StringRef name,
                                        mlir::sdy::MeshAttr mesh);

/// Everything a function refers to, and what that refers to, in the order in
/// which it is met.
llvm::SetVector<mlir::Operation *> collectSymbols(mlir::func::FuncOp function,
                                                  mlir::SymbolTable &symbols);

/// A copy of the function of a fragment as `@main` of a module that any
/// compiler of StableHLO with sdy shardings takes:
///
///   func.func @p0_enc.step(%x: tensor<8xf32>) -> tensor<8xf32>
///       attributes {mesh_shape = #sdy.mesh<["x"=2]>} {...}
///   // becomes
///   module @p0_enc.step {
///     sdy.mesh @mesh = <["x"=2]>
///     func.func public @main(
///         %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})
///         -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {...}
///   }
///
/// Functions and meshes that it refers to come along. Arguments and results
/// without a sharding are replicated. Emits an error if the body holds
/// operations of the mpmd dialect, or shardings that do not fit the mesh it
/// runs on. `symbols` are those of the whole module.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
makeFragmentModule(mlir::func::FuncOp function, mlir::SymbolTable &symbols);

/// The name of a file for a fragment's module: that of its function, with what
/// a file system may not like replaced by '_'. Names of functions begin with
/// the number of their group, so they stay apart.
std::string getFragmentFileStem(llvm::StringRef functionName);

} // namespace meshwright

#endif
