//===- TextPartitioner.cpp - Texts in, texts out --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/TextPartitioner.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/InitAll.h"
#include "meshwright/Partitioner/ExplainSharding.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Text/SourcePlace.h"
#include "meshwright/Text/Utf8.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  llvm_unreachable("all severities are named");
}

static TextDiagnostic makeDiagnostic(const Diagnostic &diagnostic) {
  TextDiagnostic result;
  result.severity = getSeverityName(diagnostic.getSeverity()).str();
  result.text = diagnostic.str();
  if (std::optional<SourcePlace> place =
          findSourcePlace(diagnostic.getLocation())) {
    result.file = place->file;
    result.line = place->line;
    result.column = place->column;
  }
  return result;
}

namespace {
/// A context of one call, whose diagnostics go to a list.
class TextSession {
public:
  explicit TextSession(std::vector<TextDiagnostic> &diagnostics)
      : threadPool(makeGuardedThreadPool()),
        context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [&](Diagnostic &diagnostic) {
          if (std::optional<RemarkInfo> info = getRemarkInfo(diagnostic)) {
            remarks.push_back(
                {info->kind.str(), info->missed, makeDiagnostic(diagnostic)});
            if (!showsRemarks)
              return;
          }
          diagnostics.push_back(makeDiagnostic(diagnostic));
          for (Diagnostic &note : diagnostic.getNotes())
            diagnostics.push_back(makeDiagnostic(note));
        }) {
    context.setThreadPool(*threadPool);
    context.printOpOnDiagnostic(false);
  }

  MLIRContext *getContext() { return &context; }

  /// All remarks are kept for the caller; shown are those of `options`.
  void setUpRemarks(InspectionOptions &options) {
    showsRemarks = !options.remarks.empty();
    if (!showsRemarks)
      options.remarks = ".*";
  }
  std::vector<TextRemark> takeRemarks() { return std::move(remarks); }

  OwningOpRef<ModuleOp> parse(std::string_view program,
                              WrittenValues *written = nullptr) {
    return parseProgram(StringRef(program), &context, "program", written);
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  std::unique_ptr<llvm::ThreadPoolInterface> threadPool;
  MLIRContext context;
  std::vector<TextRemark> remarks;
  bool showsRemarks = false;
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Parses rules that come apart from the configuration.
template <typename Rule>
static LogicalResult addRules(ArrayRef<std::string> texts,
                              llvm::Expected<Rule> (*parse)(StringRef),
                              MLIRContext *context, std::vector<Rule> &rules) {
  for (const std::string &text : texts) {
    llvm::Expected<Rule> rule = parse(text);
    if (!rule)
      return emitError(UnknownLoc::get(context))
             << "rule " << text << ": " << llvm::toString(rule.takeError());
    rules.push_back(std::move(*rule));
  }
  return success();
}

static PhaseSet makePhases(unsigned bits) {
  PhaseSet phases = PhaseSet::none();
  if (bits & kTextImport)
    phases.insert(Phase::Import);
  if (bits & kTextOptimize)
    phases.insert(Phase::Optimize);
  if (bits & kTextPartition)
    phases.insert(Phase::Shard).insert(Phase::Export);
  return phases;
}

static std::string printWithLocations(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(module, os, OpPrintingFlags().enableDebugInfo());
  return text;
}

static LogicalResult writeExport(const PartitionResult &partitioned,
                                 ModuleOp module, TextResult &result) {
  llvm::raw_string_ostream programStream(result.program);
  writeJson(*partitioned.program, programStream);
  SymbolTable symbols(module);
  for (const ExportedProgram::Fragment &fragment :
       partitioned.program->fragments) {
    func::FuncOp function = fragment.function;
    FailureOr<OwningOpRef<ModuleOp>> own =
        makeFragmentModule(function, symbols);
    if (failed(own) || failed(checkBeforeWriting(**own)))
      return failure();
    result.fragments.emplace_back(toUtf8(function.getSymName()),
                                  printWithLocations(**own));
  }
  return success();
}

static TextFragmentInfo makeInfo(FragmentOp fragment) {
  FragmentInfo info = getFragmentInfo(fragment);
  TextFragmentInfo result;
  for (const FragmentOrigin &origin : info.origins)
    result.origins.emplace_back(origin.name, origin.transposeCount);
  result.stageId = info.stageId;
  result.callCounter = info.callCounter;
  if (info.splitType)
    result.splitType = *info.splitType == SplitFragmentType::kKeepTransferred
                           ? "keep_transferred"
                           : "drop_transferred";
  result.meshName = info.meshName;
  return result;
}

static std::vector<TextFragmentInfo> collectInfos(Operation *root) {
  std::vector<TextFragmentInfo> infos;
  root->walk([&](FragmentOp fragment) { infos.push_back(makeInfo(fragment)); });
  return infos;
}

static FailureOr<PartitionConfig> readConfig(const TextRequest &request,
                                             MLIRContext *context) {
  FailureOr<PartitionConfig> config =
      parsePartitionConfig(StringRef(request.config), "config", context);
  if (failed(config) ||
      failed(addRules(request.mergeRules, parseFragmentMergeRule, context,
                      config->options.optimizing.mergeRules)) ||
      failed(addRules(request.scheduleRules, parseFragmentScheduleRule, context,
                      config->options.optimizing.scheduleRules)))
    return failure();
  return config;
}

static LogicalResult run(const TextRequest &request, TextSession &session,
                         TextResult &result) {
  MLIRContext *context = session.getContext();
  if (request.phases & ~kTextAll)
    return emitError(UnknownLoc::get(context))
           << "unknown phases " << (request.phases & ~kTextAll)
           << "; known are import (1), optimize (2), partition (4)";
  FailureOr<PartitionConfig> config = readConfig(request, context);
  if (failed(config))
    return failure();
  OwningOpRef<ModuleOp> module = session.parse(request.program);
  if (!module)
    return failure();
  session.setUpRemarks(config->options.inspection);
  auto onPhase = [&](const PhaseInfo &info, double) {
    if (info.phase == Phase::Import) // By now all calls are inlined.
      result.fragmentInfos = collectInfos(*module);
  };
  FailureOr<PartitionResult> partitioned =
      partition(*module, *config, makePhases(request.phases), onPhase);
  if (failed(partitioned) || failed(checkBeforeWriting(*module)))
    return failure();
  result.remarks = session.takeRemarks();
  if (request.givesBytecode) {
    llvm::raw_string_ostream moduleStream(result.module);
    if (failed(writeBytecodeToFile(*module, moduleStream)))
      return module->emitError("the program cannot be written as bytecode");
  } else {
    result.module = printWithLocations(*module);
  }
  llvm::raw_string_ostream placementStream(result.placement);
  if (failed(writePlacementJson(partitioned->function, placementStream)))
    return failure();
  return partitioned->program ? writeExport(*partitioned, *module, result)
                              : success();
}

namespace {
/// All that a call uses. A crash leaves it in pieces.
template <typename Result> struct Call {
  Result result;
  std::vector<TextDiagnostic> diagnostics;
  std::optional<TextSession> session;
};
} // namespace

/// Runs `body` on a session of its own, which appends to `diagnostics`.
template <typename Result>
static Result runInSession(
    llvm::function_ref<void(TextSession &session, Result &result)> body,
    std::vector<TextDiagnostic> &diagnostics) {
  auto call = std::make_unique<Call<Result>>();
  std::optional<std::string> crash = runGuarded([&] {
    call->session.emplace(call->diagnostics);
    body(*call->session, call->result);
    call->session.reset();
  });
  if (crash) {
    call.release(); // Nothing of it can be destroyed any more.
    TextDiagnostic &error = diagnostics.emplace_back();
    error.severity = "error";
    error.text = "the compiler " + *crash +
                 "; this is a mistake in Meshwright, not in the program: "
                 "please report it together with the program";
    return {};
  }
  llvm::append_range(diagnostics, call->diagnostics);
  return std::move(call->result);
}

TextResult meshwright::partitionText(const TextRequest &request) {
  std::vector<TextDiagnostic> diagnostics;
  TextResult result = runInSession<TextResult>(
      [&](TextSession &session, TextResult &result) {
        result.succeeded = succeeded(run(request, session, result));
      },
      diagnostics);
  result.diagnostics = std::move(diagnostics);
  return result;
}

std::optional<std::string>
meshwright::printBytecode(std::string_view program,
                          std::vector<TextDiagnostic> &diagnostics) {
  using Text = std::optional<std::string>;
  return runInSession<Text>(
      [&](TextSession &session, Text &text) {
        if (OwningOpRef<ModuleOp> module = session.parse(program))
          text = printWithLocations(*module);
      },
      diagnostics);
}

std::optional<TextExplanation>
meshwright::explainShardingOfText(const TextRequest &request,
                                  std::string_view value,
                                  std::vector<TextDiagnostic> &diagnostics) {
  using Explanation = std::optional<TextExplanation>;
  return runInSession<Explanation>(
      [&](TextSession &session, Explanation &explanation) {
        FailureOr<PartitionConfig> config =
            readConfig(request, session.getContext());
        if (failed(config))
          return;
        config->options.inspection = {}; // It is the partitioning's.
        WrittenValues written;
        OwningOpRef<ModuleOp> module = session.parse(request.program, &written);
        if (!module)
          return;
        auto values =
            explainSharding(*module, &*config, StringRef(value), written);
        if (failed(values))
          return;
        explanation.emplace();
        llvm::raw_string_ostream json(explanation->json),
            text(explanation->text);
        writeExplanation(*values, json);
        printExplanation(*values, text);
      },
      diagnostics);
}

std::string
meshwright::describeErrors(const std::vector<TextDiagnostic> &diagnostics) {
  std::string text;
  bool isOfError = false;
  for (const TextDiagnostic &diagnostic : diagnostics) {
    if (diagnostic.severity != "note")
      isOfError = diagnostic.severity == "error";
    if (!isOfError)
      continue;
    if (!text.empty())
      text += "\n";
    if (!diagnostic.file.empty())
      text += diagnostic.file + ":" + std::to_string(diagnostic.line) + ":" +
              std::to_string(diagnostic.column) + ": ";
    if (diagnostic.severity == "note")
      text += "note: ";
    text += diagnostic.text;
  }
  return text.empty() ? "the partitioner failed without saying why" : text;
}

std::optional<std::vector<TextFragmentInfo>>
meshwright::readFragmentInfos(std::string_view program,
                              std::string_view function,
                              std::vector<TextDiagnostic> &diagnostics) {
  using Infos = std::optional<std::vector<TextFragmentInfo>>;
  return runInSession<Infos>(
      [&](TextSession &session, Infos &infos) {
        OwningOpRef<ModuleOp> module = session.parse(program);
        if (!module)
          return;
        auto func = module->lookupSymbol<func::FuncOp>(StringRef(function));
        if (func)
          infos = collectInfos(func);
        else
          module->emitError()
              << "no function @" << StringRef(function) << " in this program";
      },
      diagnostics);
}
