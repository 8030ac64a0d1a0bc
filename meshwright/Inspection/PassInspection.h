//===- PassInspection.h - What passes leave to look at ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A compile of @step that is dumped to `dir` leaves there
//
//   dir/step/program.mlir       the program as it was given
//   dir/step/pipeline.txt       mpmd-opt --pass-pipeline="$(cat ...)" replays it
//   dir/step/2-import/...       the IR after each pass that changed it
//   dir/step/remarks.txt        what passes did and did not do
//   dir/step/statistics.txt     what they counted
//   dir/step/time.txt           what they took
//
// The variable MESHWRIGHT_DUMP in the environment is the `dir` of a compile
// that names none.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INSPECTION_PASSINSPECTION_H
#define MESHWRIGHT_INSPECTION_PASSINSPECTION_H

#include "meshwright/Inspection/PassRemarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include <memory>
#include <string>

namespace meshwright {

#ifdef MESHWRIGHT_VERIFY_EACH
inline constexpr bool kVerifiesEachPass = true;
#else
inline constexpr bool kVerifiesEachPass = false;
#endif

/// How passes are run and watched.
struct InspectionOptions {
#define MESHWRIGHT_OPTION(TYPE, FIELD, TEXT, KEY, PIPELINE, FRONT, HELP)       \
  TYPE FIELD = PIPELINE;
#include "meshwright/Inspection/Options.def"
};

class PassStatistics;

class PassInspection {
public:
  /// Begins the compile of a function. Fails, with an error, if a folder or
  /// file cannot be made.
  static mlir::FailureOr<std::unique_ptr<PassInspection>>
  begin(mlir::ModuleOp module, const InspectionOptions &options,
        llvm::StringRef stem, llvm::StringRef pipeline);
  /// Ends it, and prints what was asked for.
  ~PassInspection();

  /// Says, in place of what `begin` was given, what replays the compile.
  mlir::LogicalResult setPipeline(mlir::ModuleOp module,
                                  llvm::StringRef pipeline);
  /// Runs the passes of a phase.
  mlir::LogicalResult run(mlir::PassManager &passes, llvm::StringRef phase,
                          mlir::ModuleOp module);

private:
  PassInspection(const InspectionOptions &options, llvm::StringRef stem);

  mlir::LogicalResult makeFolder(mlir::ModuleOp module);
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef name,
                            llvm::StringRef contents);
  mlir::LogicalResult writeReproducer(mlir::PassManager &passes,
                                      mlir::ModuleOp module);
  mlir::LogicalResult enableRemarks(mlir::ModuleOp module);
  bool keepRemark(mlir::Diagnostic &diagnostic);

  InspectionOptions options;
  std::string stem;
  /// Of this compile; empty if nothing is dumped.
  std::string folder;
  unsigned numPhases = 0;
  double dumpSeconds = 0; ///< In all threads.
  std::shared_ptr<PassStatistics> statistics;
  std::optional<PassRemarks> remarks;
  /// For the folder.
  std::string remarkText;
  /// What timers write to, after the last phase.
  std::string timeText;
  std::unique_ptr<llvm::raw_string_ostream> timeStream;
  mlir::DefaultTimingManager timing;
  mlir::TimingScope timingRoot;
};

} // namespace meshwright

#endif
