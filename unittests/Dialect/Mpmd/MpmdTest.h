//===- MpmdTest.h - Parses programs for tests of the C++ API ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_UNITTESTS_DIALECT_MPMD_MPMDTEST_H
#define MESHWRIGHT_UNITTESTS_DIALECT_MPMD_MPMDTEST_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace mlir::mpmd {

class MpmdTest : public ::testing::Test {
protected:
  MpmdTest() { context.loadDialect<MpmdDialect>(); }

  void parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }
  func::FuncOp function(StringRef name) {
    return module->lookupSymbol<func::FuncOp>(name);
  }
  /// The n-th op of a kind in a function.
  template <typename OpT> OpT op(StringRef func, unsigned n = 0) {
    auto ops = function(func).getOps<OpT>();
    return *std::next(ops.begin(), n);
  }
  template <typename AttrT> AttrT attr(StringRef text) {
    return dyn_cast_or_null<AttrT>(parseAttribute(text, &context));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace mlir::mpmd

#endif
