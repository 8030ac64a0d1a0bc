//===- PassInspection.cpp - What a run of passes leaves to look at --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/PassInspection.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Inspection/PassDumps.h"
#include "meshwright/Inspection/PassStatistics.h"
#include "meshwright/Text/SourcePlace.h"
#include "meshwright/Text/WholeFile.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace meshwright;

static constexpr StringLiteral kDumpVariable = "MESHWRIGHT_DUMP";

static std::string joinPath(StringRef folder, const Twine &name) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

namespace {
/// A line per phase and pass. MLIR's own report goes to stderr only.
struct TimeTable : OutputStrategy {
  using OutputStrategy::OutputStrategy;

  void printHeader(const TimeRecord &) override {}
  void printFooter() override {}
  void printTime(const TimeRecord &time, const TimeRecord &) override {
    os << llvm::formatv("{0,10:F4} s  ", time.wall);
  }
  void printListEntry(StringRef name, const TimeRecord &time,
                      const TimeRecord &total, bool) override {
    printTreeEntry(0, name, time, total);
  }
  void printTreeEntry(unsigned indent, StringRef name, const TimeRecord &time,
                      const TimeRecord &total) override {
    printTime(time, total);
    os.indent(indent) << name << "\n";
  }
  void printTreeEntryEnd(unsigned, bool) override {}
};
} // namespace

PassInspection::PassInspection(const InspectionOptions &options, StringRef stem)
    : options(options), stem(stem) {
  if (options.dumpFolder.empty())
    this->options.dumpFolder =
        llvm::sys::Process::GetEnv(kDumpVariable).value_or("");
  if (options.countWork || !this->options.dumpFolder.empty())
    statistics = std::make_shared<PassStatistics>();
  timeStream = std::make_unique<llvm::raw_string_ostream>(timeText);
  timing.setOutput(std::make_unique<TimeTable>(*timeStream));
  timing.setDisplayMode(DefaultTimingManager::DisplayMode::Tree);
  timing.setEnabled(options.timePasses || !this->options.dumpFolder.empty());
  timingRoot = timing.getRootScope();
}

PassInspection::~PassInspection() {
  timingRoot.stop();
  timing.print();
  timing.clear(); // It would print once more.
  std::string counted;
  if (statistics) {
    llvm::raw_string_ostream os(counted);
    statistics->print(os);
  }
  if (options.timePasses)
    llvm::errs() << timeText;
  if (options.countWork)
    llvm::errs() << counted;
  if (folder.empty())
    return;
  // The compile is over, and what could be said of it is said.
  auto put = [&](StringRef name, StringRef text) {
    llvm::consumeError(writeWholeText(joinPath(folder, name), text));
  };
  put("time.txt",
      timeText + llvm::formatv("{0,10:F4} s  Dump, in the lines of phases and "
                               "pipelines, in all threads\n",
                               dumpSeconds)
                     .str());
  put("statistics.txt", counted);
  put("remarks.txt", remarkText);
}

/// The first of step, step.1, step.2, ... that is not there yet; compiles at
/// the same time, of one process or several, get a folder each.
LogicalResult PassInspection::makeFolder(ModuleOp module) {
  std::error_code error = llvm::sys::fs::create_directories(options.dumpFolder);
  std::string first = joinPath(options.dumpFolder, stem);
  std::string path = first;
  for (unsigned i = 1; !error; ++i) {
    error = llvm::sys::fs::create_directory(path, /*IgnoreExisting=*/false);
    if (!error) {
      folder = path;
      return success();
    }
    if (error == std::errc::file_exists)
      error = std::error_code();
    path = first + "." + std::to_string(i);
  }
  return module.emitError() << "options.mpmd_dump: cannot make a folder in "
                            << options.dumpFolder << ": " << error.message();
}

LogicalResult PassInspection::write(ModuleOp module, StringRef path,
                                    StringRef contents) {
  llvm::Error error = writeWholeText(path, contents);
  if (!error)
    return success();
  return module.emitError() << llvm::toString(std::move(error));
}

LogicalResult PassInspection::enableRemarks(ModuleOp module) {
  std::string problem;
  // LLVM copies what is repeated; nested repetition grows without bound.
  if (options.remarks.find('{') != std::string::npos)
    return module.emitError()
           << "options.mpmd_remarks: expected kinds of remarks, such as "
              "merge|absorb, without repetitions in braces";
  if (!options.remarks.empty() &&
      !llvm::Regex(options.remarks).isValid(problem))
    return module.emitError()
           << "options.mpmd_remarks: not a regular expression: " << problem;
  if (!options.dumpFolder.empty())
    remarks.emplace(module.getContext(), ".*");
  else if (!options.remarks.empty())
    remarks.emplace(module.getContext(), options.remarks);
  return success();
}

/// Takes a remark for the folder. Whether that is all that becomes of it.
bool PassInspection::keepRemark(Diagnostic &diagnostic) {
  std::optional<RemarkInfo> info = getRemarkInfo(diagnostic);
  if (!info)
    return false;
  if (!folder.empty()) {
    llvm::raw_string_ostream os(remarkText);
    os << "[" << info->kind << (info->missed ? ", not done] " : "] ");
    if (std::optional<SourcePlace> place =
            findSourcePlace(diagnostic.getLocation()))
      os << place->file << ":" << place->line << ":" << place->column << ": ";
    os << diagnostic << "\n";
  }
  return options.remarks.empty() ||
         !llvm::Regex(options.remarks).match(info->kind);
}

FailureOr<std::unique_ptr<PassInspection>>
PassInspection::begin(ModuleOp module, const InspectionOptions &options,
                      StringRef stem, StringRef pipeline) {
  std::unique_ptr<PassInspection> result(new PassInspection(options, stem));
  if (failed(result->enableRemarks(module)))
    return failure();
  if (result->options.dumpFolder.empty())
    return result;
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(module, os, OpPrintingFlags().enableDebugInfo());
  if (failed(result->makeFolder(module)) ||
      failed(result->write(module, joinPath(result->folder, "program.mlir"),
                           text)) ||
      failed(result->setPipeline(module, pipeline)))
    return failure();
  return result;
}

LogicalResult PassInspection::setPipeline(ModuleOp module, StringRef pipeline) {
  if (folder.empty())
    return success();
  return write(module, joinPath(folder, "pipeline.txt"), pipeline.str() + "\n");
}

/// The program and the passes of this phase, in the form of MLIR's own crash
/// reproducers, but written before anything can go wrong: whatever ends the
/// process, it is there.
LogicalResult PassInspection::writeReproducer(PassManager &passes,
                                              ModuleOp module) {
  std::string pipeline;
  llvm::raw_string_ostream pipelineStream(pipeline);
  passes.printAsTextualPipeline(pipelineStream);
  std::string text;
  llvm::raw_string_ostream os(text);
  AsmState state(module, OpPrintingFlags().enableDebugInfo());
  state.attachResourcePrinter("mlir_reproducer",
                              [&](Operation *, AsmResourceBuilder &builder) {
                                builder.buildString("pipeline", pipeline);
                                builder.buildBool("disable_threading", false);
                                builder.buildBool("verify_each", true);
                              });
  module->print(os, state);
  return write(module, options.reproducer, text + "\n");
}

LogicalResult PassInspection::run(PassManager &passes, StringRef phase,
                                  ModuleOp module) {
  ++numPhases;
  if (!options.reproducer.empty() && failed(writeReproducer(passes, module)))
    return failure();
  passes.enableVerifier(options.verifyEach);
  std::shared_ptr<PassDumps> dumps;
  if (!folder.empty()) {
    dumps = std::make_shared<PassDumps>(
        joinPath(folder, llvm::formatv("{0}-{1}", numPhases, phase).str()));
    PassDumps::watch(dumps, passes, options.dumpUnchanged);
  }
  if (statistics)
    PassStatistics::watch(statistics, passes, phase);
  TimingScope scope = timingRoot.nest(phase);
  if (scope)
    passes.enableTiming(scope);

  // Some passes report an error and go on, so that one run shows as many as
  // possible; that is a failure here.
  bool hasError = false;
  DiagnosticEngine &engine = module.getContext()->getDiagEngine();
  DiagnosticEngine::HandlerID watcher =
      engine.registerHandler([&](Diagnostic &diagnostic) {
        hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return success(keepRemark(diagnostic));
      });
  LogicalResult result = passes.run(module);
  engine.eraseHandler(watcher);
  result = failure(hasError || failed(result));
  if (dumps)
    dumpSeconds += dumps->getSeconds();
  if (dumps && !dumps->getError().empty())
    result = module.emitError() << "options.mpmd_dump: " << dumps->getError();
  if (succeeded(result) && !options.reproducer.empty())
    llvm::sys::fs::remove(options.reproducer);
  return result;
}
