//===- ConfigOptions.h - The options of a configuration ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_CONFIGOPTIONS_H
#define MESHWRIGHT_PARTITIONER_CONFIGOPTIONS_H

#include "meshwright/Export/Pipeline.h"
#include "meshwright/Import/Pipeline.h"
#include "meshwright/Inspection/PassInspection.h"
#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/Sharding/Pipeline.h"
#include "meshwright/Text/LocatedJson.h"
#include "llvm/Support/JSON.h"
#include <set>
#include <string>
#include <variant>

namespace meshwright {

/// The options of all phases, at first those of an empty configuration.
struct ConfigOptions {
  ConfigOptions();

  mlir::mpmd::ImportOptions importing;
  mlir::mpmd::OptimizeOptions optimizing;
  mlir::mpmd::ShardingPropagationOptions sharding;
  mlir::mpmd::ExportOptions exporting;
  InspectionOptions inspection;
  /// Keys that the user gave a value.
  std::set<std::string, std::less<>> given;

  /// Turns on what the schedule needs, unless the user has said otherwise. If it has
  /// overlapped pairs, these have as little as possible in the half that neighbours
  /// wait for. If it is to be followed to the letter: halves of backward work, if it
  /// has a place for them, and sums of gradients that do not tie its backward work to
  /// the order of the sum.
  void completeForSchedule();
};

/// A line of a table of options that has a key.
struct ConfigOption {
  using Field = std::variant<std::monostate, bool *, int *, int64_t *,
                             std::string *, mlir::mpmd::ScheduleOption *,
                             std::vector<mlir::mpmd::InputOutputConstraint> *>;

  llvm::StringRef phase;
  llvm::StringRef key;
  llvm::StringRef pipelineName;
  llvm::StringRef help;
  /// Its place among the options.
  Field (*getField)(ConfigOptions &options);

  /// "bool", "int", "text", "schedule" or "pairs".
  llvm::StringRef getType() const;
  /// Its value in an empty configuration.
  llvm::json::Value getDefault() const;
  /// The least that a number may be.
  int64_t getLeast() const;
};

/// All options with a key, in the order of the phases; an option of two phases
/// occurs twice.
llvm::ArrayRef<ConfigOption> getConfigOptions();

/// Sets the option `key`, of all phases that have it. Diagnoses unknown keys
/// and wrong values at their places.
mlir::LogicalResult setOption(ConfigOptions &options, const JsonMember &member);

/// The same from a command line, where texts need no quotes.
mlir::LogicalResult setOption(ConfigOptions &options, llvm::StringRef key,
                              llvm::StringRef value,
                              mlir::MLIRContext *context);

} // namespace meshwright

#endif
