//===- BytecodeForm.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"

using namespace mlir;
using namespace mlir::stablehlo;

static thread_local BytecodeForm form = BytecodeForm::Jax0_11_2;

BytecodeFormScope::BytecodeFormScope(BytecodeForm inner) : outer(form) {
  form = inner;
}
BytecodeFormScope::~BytecodeFormScope() { form = outer; }

BytecodeForm BytecodeFormScope::current() { return form; }
