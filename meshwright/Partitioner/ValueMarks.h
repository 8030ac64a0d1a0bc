//===- ValueMarks.h - Values found again behind passes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_VALUEMARKS_H
#define MESHWRIGHT_PARTITIONER_VALUEMARKS_H

#include "meshwright/Files/ProgramText.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright {

/// Marks the locations of some values of a program, so that they can be told from
/// others when passes have inlined, merged and replaced what computes them:
/// locations are what passes keep. A result of a call is what the callee returns,
/// an argument of a callee what is passed, and a result of a region what the
/// region returns.
class ValueMarks {
public:
  explicit ValueMarks(mlir::ModuleOp module)
      : module(module), symbols(module) {}

  /// Marks the values that a name of the program's text stands for: `%0`, all of
  /// them if there are several, or `%0#1`. Those of the main function, if it has
  /// such. Reports an error on the module if there are none.
  mlir::LogicalResult mark(llvm::StringRef name, const WrittenValues &written);

  /// The marked values of the program, as passes have left it. Where the op of a
  /// marked value is gone, and had no other results, those that took its place.
  llvm::DenseSet<mlir::Value> find() const;

private:
  /// What tells a value. It is among the results that `inner` finds in the region
  /// of its op, if that finds any.
  struct Trace {
    llvm::SmallVector<mlir::Attribute> marks;
    mlir::OperationName name; ///< Of the op, or of that around an argument.
    unsigned index;
    unsigned count; ///< Of results, or arguments.
    bool isArgument;
    std::vector<Trace> inner;
  };

  void trace(mlir::Value value, llvm::ArrayRef<mlir::Attribute> marks,
             std::vector<Trace> &traces);
  void traceResult(mlir::OpResult result, llvm::ArrayRef<mlir::Attribute> marks,
                   std::vector<Trace> &traces);
  mlir::Attribute getMark(const void *marked);
  static bool matches(const Trace &trace, mlir::Value value);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<const void *, mlir::Attribute> marks;
  llvm::DenseSet<mlir::Value> seenArguments; ///< Functions may call themselves.
  std::vector<Trace> traces;
};

} // namespace meshwright

#endif
