//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_PASSES_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_PASSES_H

#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "meshwright/Text/QuotedText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Optimize/Scheduler/Passes.h.inc"
} // namespace mlir::mpmd

#endif
