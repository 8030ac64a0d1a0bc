//===- ReadDrawing.h - Drawings from files ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_READDRAWING_H
#define MESHWRIGHT_DRAW_READDRAWING_H

#include "meshwright/Draw/Drawing.h"
#include "meshwright/Schedule/Timeline.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace meshwright {

/// Any of the below, from its JSON.
llvm::Expected<Drawing> readDrawing(llvm::StringRef text);

/// What `meshwright simulate --json --items` prints. Errors say where in it
/// something is missing or wrong.
llvm::Expected<Drawing> readSimulation(const llvm::json::Value &value);

/// What `meshwright schedule NAME --json` prints.
llvm::Expected<Drawing> readPlanJson(const llvm::json::Value &value);

/// A schedule.json. Each fragment takes a unit of time, and transfers none.
llvm::Expected<Drawing> readProgram(const llvm::json::Value &value);

Drawing makeDrawing(const Plan &plan, const Timeline &timeline);

/// Puts a run beside the simulated one: a recording of `meshwright.profile`,
/// as a Chrome trace or as plain JSON. Without a number, the last run. Its
/// fragments are found by mesh, name and position.
llvm::Error addRecording(const llvm::json::Value &value,
                         std::optional<int64_t> run, Drawing &drawing);

} // namespace meshwright

#endif
