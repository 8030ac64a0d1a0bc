//===- Partition.cpp - meshwright partition -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ExportFiles.h"
#include "Support/ModuleFile.h"
#include "Support/Tool.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("partition",
                                 "Cut a program into fragments on meshes");
static cl::opt<std::string> program(cl::Positional, cl::Required,
                                    cl::desc("<program.mlir, or - for stdin>"),
                                    cl::sub(subCommand));
static cl::opt<std::string>
    configFile("config", cl::Required,
               cl::desc("Topology, assignment and options, as JSON"),
               cl::value_desc("config.json"), cl::sub(subCommand));
static cl::opt<std::string> output(
    "o", cl::init("out"), cl::value_desc("folder"),
    cl::desc(
        "Where partitioned.mlir, fragments/ and schedule.json go; - prints the "
        "program instead, and the table to stderr (default: out)"),
    cl::sub(subCommand));
static cl::opt<bool>
    emitBytecode("emit-bytecode", cl::sub(subCommand),
                 cl::desc("Write MLIR bytecode, not text; =false writes text "
                          "however large the program is"));
static cl::opt<ScheduleForm>
    scheduleForm("schedule-json", cl::sub(subCommand),
                 cl::init(ScheduleForm::BySize), cl::value_desc("form"),
                 cl::desc("How schedule.json is written (default: with ranges "
                          "from 1,000 items on)"),
                 cl::values(clEnumValN(ScheduleForm::Flat, "flat",
                                       "item by item (version 1)"),
                            clEnumValN(ScheduleForm::Ranges, "ranges",
                                       "repeated items once (version 2)")));
static cl::opt<std::string>
    portable("portable", cl::ValueOptional, cl::value_desc("version"),
             cl::desc("Write fragments as portable artifacts, for a reader of "
                      "this version of StableHLO or a newer one (default: one "
                      "that is 12 weeks older than jaxlib)"),
             cl::sub(subCommand));
static cl::opt<bool>
    plain("plain",
          cl::desc("Write fragments without what only JAX reads: aliasing and "
                   "donation of buffers, mhlo.* attributes, locations"),
          cl::sub(subCommand));

static cl::opt<std::string>
    schedule("schedule", cl::value_desc("name"),
             cl::desc("Pipeline schedule, instead of the configured one "
                      "(`meshwright schedule` lists them)"),
             cl::sub(subCommand));
static cl::opt<std::string>
    from("from", cl::value_desc("phase"),
         cl::desc("Start with this phase, on a program that has been through "
                  "those before it"),
         cl::sub(subCommand));
static cl::opt<std::string>
    until("until", cl::value_desc("phase"),
          cl::desc("Stop after this phase: import, optimize, shard or export "
                   "(default: the last)"),
          cl::sub(subCommand));
static cl::opt<bool> showTime(
    "time", cl::sub(subCommand),
    cl::desc("Print the time of each phase, also when not on a terminal"));

static cl::list<std::string> costs(
    "cost", cl::sub(subCommand), cl::value_desc("name=flops:expression"),
    cl::desc(
        "What a custom call does, such as 'flash_attention=flops:4*b*h*t*t*d', "
        "for the FLOPs of schedule.json and of the table; may be repeated"));
static cl::list<std::string>
    settings("set", cl::value_desc("option=value"),
             cl::desc("Any option of the configuration file, instead of what "
                      "that says; may be repeated (docs/config.md)"),
             cl::sub(subCommand));
static cl::opt<bool> printPipeline(
    "print-pipeline", cl::sub(subCommand),
    cl::desc("Print the passes for mpmd-opt --pass-pipeline, and run none"));

static LogicalResult applySettings(PartitionConfig &config,
                                   MLIRContext *context) {
  if (!schedule.empty() &&
      failed(setOption(config.options, "mpmd_pipeline_schedule", schedule,
                       context)))
    return failure();
  if (!costs.empty() && failed(setOption(config.options, "mpmd_custom_costs",
                                         llvm::join(costs, ";"), context)))
    return failure();
  for (StringRef setting : settings) {
    auto [key, value] = setting.split('=');
    if (key.size() == setting.size())
      return reportError("--set: expected option=value, got " + setting);
    if (failed(setOption(config.options, key, value, context)))
      return failure();
  }
  return success();
}

/// A configuration may come from someone else, who must not choose where files
/// are written; the command line is the user's own.
static LogicalResult refusePlaces(const PartitionConfig &config) {
  const InspectionOptions &inspection = config.options.inspection;
  for (auto [key, place] :
       {std::make_pair("mpmd_dump", StringRef(inspection.dumpFolder)),
        std::make_pair("mpmd_reproducer", StringRef(inspection.reproducer))})
    if (!place.empty())
      return reportError(
          configFile + ": options." + key +
          " says where to write, which a file must not; use --set " + key +
          "=" + place);
  return success();
}

static FailureOr<Phase> findPhase(StringRef option, StringRef name,
                                  Phase byDefault) {
  SmallVector<StringRef> names;
  for (const PhaseInfo &info : getPhases()) {
    if (info.name == name)
      return info.phase;
    names.push_back(info.name);
  }
  if (name.empty())
    return byDefault;
  return reportError(option + ": unknown phase \"" + name + "\", " +
                     listKnown(name, names));
}

static FailureOr<PhaseSet> readPhases() {
  FailureOr<Phase> first = findPhase("--from", from, getPhases().front().phase);
  if (failed(first))
    return failure();
  FailureOr<Phase> last = findPhase("--until", until, getPhases().back().phase);
  if (failed(last))
    return failure();
  if (*first > *last)
    return reportError("--from: phase \"" + from + "\" comes after phase \"" +
                       until + "\" of --until");
  return PhaseSet::between(*first, *last);
}

/// The table, and what is not in it.
static void printSummary(const ProgramSummary &summary, llvm::raw_ostream &os) {
  printTable(summary, os);
  if (!summary.uncounted.empty())
    llvm::WithColor::note(llvm::errs())
        << "the work of custom calls " << llvm::join(summary.uncounted, ", ")
        << " is unknown, and counts as 0 in schedule.json and the table; give "
           "it with --cost 'NAME=flops:EXPRESSION'\n";
}

static FragmentForm getForm(bool asBytecode) {
  FragmentForm form;
  form.isPlain = plain;
  form.version = portable;
  if (asBytecode)
    form.encoding = FragmentForm::Encoding::Bytecode;
  if (portable.getNumOccurrences())
    form.encoding = FragmentForm::Encoding::Portable;
  return form;
}

/// Options for the files of fragments need fragments, and files.
static LogicalResult checkForm(PhaseSet phases) {
  StringRef option = portable.getNumOccurrences() ? "--portable"
                     : plain                      ? "--plain"
                                                  : "";
  if (option.empty())
    return success();
  if (output == "-")
    return reportError(
        option +
        " is for the files of fragments, and -o - writes none; name a folder");
  if (!phases.contains(getPhases().back().phase))
    return reportError(option +
                       " is for the files of fragments, which are written "
                       "after the last phase; leave out --until");
  return success();
}

/// Whether the program and its fragments are written as bytecode. A text of more operands
/// and results than this has some hundred megabytes, too many for people.
static bool isBytecode(func::FuncOp function) {
  constexpr size_t kMaxInText = 2'000'000;
  if (emitBytecode.getNumOccurrences() > 0)
    return emitBytecode;
  size_t count = 0;
  for (Operation &op : function.front())
    count += op.getNumOperands() + op.getNumResults();
  return count > kMaxInText;
}

/// Puts the uses of each value in the order in which a reader of bytecode finds them. Any
/// other order is written, too, and takes a twentieth of the file.
static void sortUses(ModuleOp module) {
  module.walk<WalkOrder::PreOrder>([](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(operand.get());
  });
}

/// The program and the schedule are too large to be held as texts before they are
/// written.
static LogicalResult writeResult(ModuleOp module,
                                 const PartitionResult &result) {
  if (output == "-") {
    printSummary(summarize(result.function, result.customs), llvm::errs());
    return writeModule(module, output, emitBytecode);
  }
  bool asBytecode = isBytecode(result.function);
  if (asBytecode)
    sortUses(module);
  std::string name = asBytecode ? "partitioned.mlirbc" : "partitioned.mlir";
  std::vector<FolderFile> files;
  files.push_back({name, [&](llvm::raw_ostream &os) {
                     return printModule(module, os, asBytecode);
                   }});
  if (result.program &&
      failed(addExport(module, *result.program, getForm(asBytecode),
                       scheduleForm, files)))
    return failure();
  ProgramSummary summary;
  llvm::ThreadPoolTaskGroup summing(module.getContext()->getThreadPool());
  summing.async([&] { summary = summarize(result.function, result.customs); });
  if (failed(writeExport(output, files, module.getContext())))
    return failure();
  summing.wait();
  printSummary(summary, llvm::outs());
  SmallString<128> path(output);
  llvm::sys::path::append(path, name);
  llvm::outs() << "written: " << path;
  if (result.program)
    llvm::outs() << ", schedule.json and " << result.program->fragments.size()
                 << " programs in fragments/";
  llvm::outs() << "\n";
  return success();
}

static LogicalResult run() {
  FailureOr<PhaseSet> phases = readPhases();
  if (failed(phases) || failed(checkForm(*phases)))
    return failure();
  Session session;
  FailureOr<StringRef> text = session.readFile(configFile);
  if (failed(text))
    return failure();
  FailureOr<PartitionConfig> config =
      parsePartitionConfig(*text, configFile, session.getContext());
  if (failed(config) || failed(refusePlaces(*config)))
    return failure();
  if (failed(applySettings(*config, session.getContext())))
    return failure();
  OwningOpRef<ModuleOp> module = session.readModule(program);
  if (!module)
    return failure();
  if (printPipeline) {
    FailureOr<std::string> pipeline =
        describePipeline(*module, *config, *phases);
    if (succeeded(pipeline))
      llvm::outs() << *pipeline << "\n";
    return pipeline;
  }

  PhaseListener onPhase;
  if (showTime || llvm::sys::Process::StandardErrIsDisplayed())
    onPhase = [](const PhaseInfo &phase, double seconds) {
      llvm::errs() << llvm::formatv("{0,-10} {1,-44} {2:F4} s\n", phase.name,
                                    phase.description, seconds);
    };
  FailureOr<PartitionResult> result =
      partition(*module, *config, *phases, onPhase);
  if (failed(result))
    return failure();
  if (failed(writeResult(*module, *result)))
    return failure();
  endTool();
  return success();
}

const Command meshwright::partitionCommand = {subCommand, run};
