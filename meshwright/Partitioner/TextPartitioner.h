//===- TextPartitioner.h - Texts in, texts out ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The front door for those who do not link MLIR: the C API and Python. Only
// the standard library is in this interface, and no state is shared between
// calls, which may come from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_TEXTPARTITIONER_H
#define MESHWRIGHT_PARTITIONER_TEXTPARTITIONER_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace meshwright {

struct PartitionResult;

/// Phases as bits; sharding and export together are one.
enum TextPhase : unsigned {
  kTextImport = 1,
  kTextOptimize = 2,
  kTextPartition = 4,
  kTextAll = 7
};

struct TextRequest {
  std::string_view program; ///< A module, as text or bytecode.
  std::string_view config;  ///< JSON.
  unsigned phases = kTextAll;
  bool givesBytecode = false; ///< The partitioned program is no text.
  /// What to run is of version 2 if it is large (docs/schedule-json.md).
  bool givesRanges = false;
  /// A program with loops over microbatches that has more items is partitioned for fewer of
  /// them, and the result repeated (Partitioner/Repeat); 0 is never. No other rules may
  /// follow then, the module is not among the result, and remarks are those of the few.
  int64_t mostItems = 0;
  /// Warn if the schedule will find nothing to order, though something in the
  /// program is repeated.
  bool warnsOfIdleSchedule = false;
  /// In the syntax of pass options, after those of the configuration.
  std::vector<std::string> mergeRules;
  std::vector<std::string> scheduleRules;
  /// Takes the program in place of the texts of the result, which are then empty. Of one
  /// that is repeated, only what to run has all microbatches.
  std::function<void(const PartitionResult &)> takeProgram;
};

struct TextDiagnostic {
  std::string severity; ///< "error", "warning", "remark" or "note".
  std::string text;
  /// What it is about, for who says it in other words (Text/DiagnosticId.h);
  /// empty for most.
  std::string id;
  std::vector<std::pair<std::string, std::string>> arguments;
  std::string file; ///< Empty if the place is not known.
  unsigned line = 0;
  unsigned column = 0;
};

/// What a pass did, or did not and why.
struct TextRemark {
  std::string kind;     ///< "merge", "absorb", "move" or "remat".
  bool missed = false;  ///< It was not done.
  TextDiagnostic about; ///< Place and text.
};

struct TextFragmentInfo {
  std::vector<std::pair<std::string, int64_t>> origins; ///< Sorted.
  std::optional<int64_t> stageId;
  std::optional<int64_t> callCounter;
  std::string splitType; ///< Empty, "keep_transferred" or "drop_transferred".
  std::string meshName;
};

struct TextResult {
  bool succeeded = false;
  /// In order; notes are after what they belong to.
  std::vector<TextDiagnostic> diagnostics;
  /// Of all kinds, or of those that the option `mpmd_remarks` names, which are
  /// among the diagnostics, too.
  std::vector<TextRemark> remarks;
  /// Few microbatches were partitioned: remarks are about these, and there is
  /// no module.
  bool isRepeated = false;
  std::string module;    ///< The partitioned program, with locations.
  std::string placement; ///< Meshes and shardings of inputs and outputs, JSON.
  std::vector<TextFragmentInfo> fragmentInfos; ///< As imported.
  // After the last phase:
  std::string program; ///< What to run, JSON.
  std::vector<std::pair<std::string, std::string>> fragments; ///< Modules.
};

TextResult partitionText(const TextRequest &request);

/// A program on its way through the partitioner, for rules that are made from
/// the fragments of it: read, import, finish, each once. After a step that
/// failed there is nothing left to do. One thread at a time.
class TextSession {
public:
  /// Takes the program of the request, which must not outlive this.
  explicit TextSession(std::string_view program);
  ~TextSession();

  /// Reads the program. What is wrong with it is among the diagnostics.
  bool read();
  /// The names of all computations and tensors of the program that was read.
  std::vector<std::string> listNames() const;
  /// Runs the import phase, if that is among the phases of the request.
  bool import(const TextRequest &request);
  /// The fragments that it made, in program order.
  const std::vector<TextFragmentInfo> &getFragmentInfos() const;
  /// Runs the other phases, with further rules.
  TextResult finish(const std::vector<std::string> &mergeRules,
                    const std::vector<std::string> &scheduleRules);
  /// Until it is finished; that has all in its result.
  const std::vector<TextDiagnostic> &getDiagnostics() const;

private:
  struct State;
  bool run(bool (State::*step)());
  std::unique_ptr<State> state;
};

/// The text of a program that is bytecode, with locations; none and diagnostics
/// if it cannot be read.
std::optional<std::string>
printBytecode(std::string_view program,
              std::vector<TextDiagnostic> &diagnostics);

struct TextExplanation {
  std::string json; ///< An array of values.
  std::string text; ///< The same for people.
};

/// Which annotations the shardings of a value, or of all, come from
/// (Partitioner/Explain/ExplainSharding.h); none and diagnostics if that cannot be said.
std::optional<TextExplanation>
explainShardingOfText(const TextRequest &request, std::string_view value,
                      std::vector<TextDiagnostic> &diagnostics);

/// All errors with their places and notes, a line each.
std::string describeErrors(const std::vector<TextDiagnostic> &diagnostics);

} // namespace meshwright

#endif
