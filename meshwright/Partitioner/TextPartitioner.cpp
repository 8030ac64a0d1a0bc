//===- TextPartitioner.cpp - Texts in, texts out --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/TextPartitioner.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/Fragments/AlikeUnits.h"
#include "meshwright/Fragments/FragmentInfo.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/InitDialects.h"
#include "meshwright/Partitioner/Explain/ExplainSharding.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Partitioner/Repeat/Repetition.h"
#include "meshwright/Text/DiagnosticId.h"
#include "meshwright/Text/SourcePlace.h"
#include "meshwright/Text/Utf8.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ThreadPool.h"

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

static TextDiagnostic makeDiagnostic(Diagnostic &diagnostic) {
  TextDiagnostic result;
  result.severity = getSeverityName(diagnostic.getSeverity()).str();
  result.text = diagnostic.str();
  if (std::optional<DiagnosticId> found = getDiagnosticId(diagnostic)) {
    result.id = found->id.str();
    for (auto [name, value] : found->arguments)
      result.arguments.emplace_back(name.str(), value.str());
  }
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
class TextContext {
public:
  explicit TextContext(std::vector<TextDiagnostic> &diagnostics)
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
  printProgram(module, os,
               OpPrintingFlags().enableDebugInfo().assumeVerified());
  return text;
}

static void writeSchedule(const ExportedProgram &program, bool givesRanges,
                          std::string &text) {
  llvm::raw_string_ostream stream(text);
  // Millions of short pieces, which a stream of a string appends one by one.
  stream.SetBufferSize(1 << 16);
  if (givesRanges && isLargeForJson(program))
    writeRangedJson(program, stream);
  else
    writeJson(program, stream);
  stream.flush();
}

static LogicalResult writeExport(const PartitionResult &partitioned,
                                 ModuleOp module, bool givesRanges,
                                 TextResult &result) {
  auto write = [&] {
    writeSchedule(*partitioned.program, givesRanges, result.program);
  };
  // Writing a large schedule takes about as long as writing the fragments. Both only read the
  // program.
  llvm::ThreadPoolTaskGroup beside(module.getContext()->getThreadPool());
  if (isLargeForJson(*partitioned.program))
    beside.async(write);
  else
    write();
  SymbolTable symbols(module);
  WrittenModules written;
  for (const ExportedProgram::Fragment &fragment :
       partitioned.program->fragments) {
    func::FuncOp function = fragment.function;
    FailureOr<OwningOpRef<ModuleOp>> own =
        makeFragmentModule(function, symbols);
    if (failed(own) || failed(written.check(**own)))
      return failure();
    result.fragments.emplace_back(toUtf8(function.getSymName()),
                                  printWithLocations(**own));
  }
  beside.wait();
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

static FailureOr<FragmentRules>
readRules(const std::vector<std::string> &merges,
          const std::vector<std::string> &schedules, MLIRContext *context) {
  FragmentRules rules;
  if (failed(addRules(merges, parseFragmentMergeRule, context, rules.merges)) ||
      failed(addRules(schedules, parseFragmentScheduleRule, context,
                      rules.schedules)))
    return failure();
  return rules;
}

/// What a crash is reported as.
static TextDiagnostic describeCrash(const std::string &crash) {
  TextDiagnostic error;
  error.severity = "error";
  error.text = "the compiler " + crash +
               "; this is a bug in Meshwright, not in the program: please "
               "report it together with the program";
  return error;
}

struct TextSession::State {
  std::string_view program;
  std::vector<TextDiagnostic> diagnostics;
  std::optional<TextContext> context;
  OwningOpRef<ModuleOp> module;
  std::vector<std::string> names;
  const TextRequest *request = nullptr; ///< During import only.
  bool givesBytecode = false, givesRanges = false;
  std::function<void(const PartitionResult &)> takeProgram;
  std::unique_ptr<Partitioning> partitioning;
  std::optional<Repetition> repetition;
  int64_t mostItems = 0; ///< Of a program that is not repeated.
  bool mayOrder =
      true; ///< Few microbatches may be fewer than fill the pipeline.
  std::string wholeConfig; ///< Of a program that is repeated.
  std::string whyWhole;    ///< Why a large one is not.
  int64_t numItems = 0;    ///< About how many that one has.
  const std::vector<std::string> *mergeRules = nullptr,
                                 *scheduleRules = nullptr;
  TextResult result;

  bool read();
  bool import();
  bool finish();
  LogicalResult repeat(FailureOr<PartitionResult> &partitioned);
  bool finishAgain();
  LogicalResult writeResult(const PartitionResult &partitioned);
};

bool TextSession::State::read() {
  context.emplace(diagnostics);
  module = context->parse(program);
  if (!module)
    return false;
  names = meshwright::listNames(*module);
  return true;
}

static void warnOfIdleSchedule(ModuleOp module, const ConfigOptions &options) {
  const ScheduleOption &schedule = options.optimizing.schedule;
  IdleReason reason = findIdleReason(module);
  if (reason == IdleReason::None ||
      !options.given.count("mpmd_pipeline_schedule") ||
      schedule.schedule == findSchedule("none"))
    return;
  bool noStages = reason == IdleReason::NoStages;
  identify(emitWarning(UnknownLoc::get(module.getContext()))
               << "schedule " << schedule.getName() << " orders nothing: "
               << (noStages ? "no computation of this program has a name"
                            : "no call of this program has a call_counter"),
           "idle_schedule",
           {{"schedule", schedule.getName()},
            {"reason", noStages ? "no_stages" : "no_counters"}});
}

static void remarkOnWhole(ModuleOp module, int64_t numItems, StringRef why) {
  remark::missed(
      module.getLoc(),
      remark::RemarkOpts::name("not repeated").category("microbatches"))
      << "about " << std::to_string(numItems)
      << " calls and transfers are partitioned, those of all microbatches "
         "instead of those of a few: "
      << why.str();
}

bool TextSession::State::import() {
  MLIRContext *mlir = context->getContext();
  if (request->phases & ~kTextAll) {
    emitError(UnknownLoc::get(mlir))
        << "unknown phases " << (request->phases & ~kTextAll)
        << "; known are import (1), optimize (2), partition (4)";
    return false;
  }
  FailureOr<PartitionConfig> config =
      parsePartitionConfig(StringRef(request->config), "config", mlir);
  if (failed(config))
    return false;
  givesBytecode = request->givesBytecode;
  givesRanges = request->givesRanges;
  takeProgram = request->takeProgram;
  PhaseSet phases = makePhases(request->phases);
  if (request->warnsOfIdleSchedule)
    warnOfIdleSchedule(*module, config->options);
  mostItems = request->mostItems;
  if (mostItems > 0 && request->phases == kTextAll && diagnostics.empty()) {
    std::string whyNot;
    numItems = Repetition::countItems(*module, *config);
    repetition =
        Repetition::begin(*module, *config, mostItems, mayOrder, whyNot);
    if (mayOrder || repetition) // Else the first reason is the one that counts.
      whyWhole = whyNot;
  }
  if (repetition)
    wholeConfig = request->config;
  context->setUpRemarks(config->options.inspection);
  FailureOr<std::unique_ptr<Partitioning>> begun =
      Partitioning::begin(*module, std::move(*config), phases);
  if (failed(begun) || failed((*begun)->import())) {
    if (!repetition)
      return false;
    partitioning
        .reset(); // The whole program may be right, or says what is wrong.
    return true;
  }
  partitioning = std::move(*begun);
  if (!whyWhole.empty() && !repetition)
    remarkOnWhole(*module, numItems, whyWhole);
  if (phases.contains(Phase::Import)) // By now all calls are inlined.
    result.fragmentInfos = collectInfos(*module);
  return true;
}

LogicalResult
TextSession::State::writeResult(const PartitionResult &partitioned) {
  if (takeProgram) {
    takeProgram(partitioned);
    return success();
  }
  result.remarks = context->takeRemarks();
  if (result.isRepeated) {
    // It would be that of few microbatches.
  } else if (givesBytecode) {
    llvm::raw_string_ostream moduleStream(result.module);
    if (failed(writeBytecodeToFile(*module, moduleStream)))
      return module->emitError("the program cannot be written as bytecode");
  } else {
    result.module = printWithLocations(*module);
  }
  llvm::raw_string_ostream placementStream(result.placement);
  if (failed(writePlacementJson(partitioned.function, placementStream)))
    return failure();
  return partitioned.program
             ? writeExport(partitioned, *module, givesRanges, result)
             : success();
}

/// Partitions more microbatches, or the whole program after all, which `whyWhole` says the
/// reason for.
bool TextSession::State::finishAgain() {
  TextRequest whole;
  whole.config = wholeConfig;
  whole.givesBytecode = givesBytecode;
  whole.givesRanges = givesRanges;
  whole.takeProgram = takeProgram;
  bool hasRules = !mergeRules->empty() || !scheduleRules->empty();
  if (repetition->ordersBySchedule() && !hasRules)
    whole.mostItems = mostItems;
  mayOrder = false;
  repetition.reset();
  partitioning.reset();
  module = {};
  context.reset();
  diagnostics.clear();
  request = &whole;
  bool isMade = read() && import() && finish();
  request = nullptr;
  return isMade;
}

/// Makes the whole of what was partitioned for few microbatches; fails where that cannot
/// be determined, or where something was said that may not be true for all.
LogicalResult
TextSession::State::repeat(FailureOr<PartitionResult> &partitioned) {
  // What is there once is warned of once.
  size_t numWarnings = 0;
  if (succeeded(partitioned))
    numWarnings = llvm::count_if(
        partitioned->program->items, [](const ExportedProgram::Item &item) {
          return item->fragment && item->origins.empty() && !item.counter;
        });
  llvm::erase_if(diagnostics, [](const TextDiagnostic &diagnostic) {
    return StringRef(diagnostic.text).contains(kSubstitutePrefix);
  });
  auto other = llvm::find_if(diagnostics, [](const TextDiagnostic &diagnostic) {
    return diagnostic.id != "not_merged";
  });
  if (other != diagnostics.end() || diagnostics.size() != numWarnings) {
    whyWhole = "partitioning a few gave a warning or an error";
    if (other != diagnostics.end())
      whyWhole = other->severity + ": " + other->text;
    return failure();
  }
  if (failed(repetition->repeat(*partitioned, whyWhole)))
    return failure();
  result.isRepeated = true;
  return success();
}

bool TextSession::State::finish() {
  FailureOr<FragmentRules> rules =
      readRules(*mergeRules, *scheduleRules, context->getContext());
  if (failed(rules))
    return false;
  bool hasRules = !rules->merges.empty() || !rules->schedules.empty();
  if (repetition && hasRules)
    return finishAgain();
  FailureOr<PartitionResult> partitioned;
  if (partitioning)
    partitioned = partitioning->finish(std::move(*rules));
  if (repetition && failed(repeat(partitioned)))
    return finishAgain();
  // The module is not written where it is that of few microbatches.
  result.succeeded = succeeded(partitioned) &&
                     (result.isRepeated || succeeded(checkText(*module))) &&
                     succeeded(writeResult(*partitioned));
  partitioning.reset();
  module = {};
  context.reset();
  return result.succeeded;
}

TextSession::TextSession(std::string_view program)
    : state(std::make_unique<State>()) {
  state->program = program;
}

TextSession::~TextSession() = default;

bool TextSession::run(bool (State::*step)()) {
  bool succeeded = false;
  if (std::optional<std::string> crash =
          runGuarded([&] { succeeded = (state.get()->*step)(); })) {
    state.release(); // Nothing of it can be destroyed any more.
    state = std::make_unique<State>();
    state->diagnostics.push_back(describeCrash(*crash));
    return false;
  }
  return succeeded;
}

bool TextSession::read() { return run(&State::read); }

std::vector<std::string> TextSession::listNames() const { return state->names; }

bool TextSession::import(const TextRequest &request) {
  if (!state->module)
    return false;
  state->request = &request;
  return run(&State::import);
}

const std::vector<TextFragmentInfo> &TextSession::getFragmentInfos() const {
  return state->result.fragmentInfos;
}

const std::vector<TextDiagnostic> &TextSession::getDiagnostics() const {
  return state->diagnostics;
}

TextResult TextSession::finish(const std::vector<std::string> &mergeRules,
                               const std::vector<std::string> &scheduleRules) {
  if (state->partitioning || state->repetition) {
    state->mergeRules = &mergeRules;
    state->scheduleRules = &scheduleRules;
    run(&State::finish);
  }
  state->result.diagnostics = std::move(state->diagnostics);
  return std::move(state->result);
}

TextResult meshwright::partitionText(const TextRequest &request) {
  TextSession session(request.program);
  if (session.read() && session.import(request))
    return session.finish(request.mergeRules, request.scheduleRules);
  TextResult result;
  result.diagnostics = session.getDiagnostics();
  return result;
}

namespace {
/// All that a call uses. A crash leaves it in pieces.
template <typename Result> struct Call {
  Result result;
  std::vector<TextDiagnostic> diagnostics;
  std::optional<TextContext> context;
};
} // namespace

/// Runs `body` in a context of its own, which appends to `diagnostics`.
template <typename Result>
static Result runInContext(
    llvm::function_ref<void(TextContext &context, Result &result)> body,
    std::vector<TextDiagnostic> &diagnostics) {
  auto call = std::make_unique<Call<Result>>();
  std::optional<std::string> crash = runGuarded([&] {
    call->context.emplace(call->diagnostics);
    body(*call->context, call->result);
    call->context.reset();
  });
  if (crash) {
    call.release(); // Nothing of it can be destroyed any more.
    diagnostics.push_back(describeCrash(*crash));
    return {};
  }
  llvm::append_range(diagnostics, call->diagnostics);
  return std::move(call->result);
}

std::optional<std::string>
meshwright::printBytecode(std::string_view program,
                          std::vector<TextDiagnostic> &diagnostics) {
  using Text = std::optional<std::string>;
  return runInContext<Text>(
      [&](TextContext &context, Text &text) {
        if (OwningOpRef<ModuleOp> module = context.parse(program))
          text = printWithLocations(*module);
      },
      diagnostics);
}

std::optional<TextExplanation>
meshwright::explainShardingOfText(const TextRequest &request,
                                  std::string_view value,
                                  std::vector<TextDiagnostic> &diagnostics) {
  using Explanation = std::optional<TextExplanation>;
  return runInContext<Explanation>(
      [&](TextContext &context, Explanation &explanation) {
        FailureOr<PartitionConfig> config = parsePartitionConfig(
            StringRef(request.config), "config", context.getContext());
        FailureOr<FragmentRules> rules = readRules(
            request.mergeRules, request.scheduleRules, context.getContext());
        if (failed(config) || failed(rules))
          return;
        OptimizeOptions &optimizing = config->options.optimizing;
        llvm::append_range(optimizing.mergeRules, std::move(rules->merges));
        llvm::append_range(optimizing.scheduleRules,
                           std::move(rules->schedules));
        config->options.inspection = {}; // It is the partitioning's.
        WrittenValues written;
        OwningOpRef<ModuleOp> module = context.parse(request.program, &written);
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
