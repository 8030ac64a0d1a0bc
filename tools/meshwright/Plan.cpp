//===- Plan.cpp - meshwright plan -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Its candidates are compiled in Python: programs/plan_command.py.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PythonCommand.h"
#include "Support/ModuleFile.h"
#include "meshwright/Planning/PlanRequest.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand
    subCommand("plan", "Choose meshes, stages and a schedule for a model");
static cl::opt<std::string>
    input(cl::Positional, cl::Required, cl::sub(subCommand),
          cl::desc("<layers.json, or program.mlir with named computations>"));
static cl::opt<std::string> deviceName("device", cl::init("h100"),
                                       cl::sub(subCommand),
                                       cl::value_desc("name|file.json"),
                                       cl::desc("The kind of device (h100)"));
static cl::opt<int64_t> devices("devices", cl::sub(subCommand),
                                cl::desc("Number of devices"));
static cl::opt<std::string>
    memory("memory", cl::sub(subCommand), cl::value_desc("80GB"),
           cl::desc("Memory limit of a device (its memory)"));
static cl::list<std::string>
    schedules("schedules", cl::CommaSeparated, cl::sub(subCommand),
              cl::value_desc("name,..."),
              cl::desc("Schedules to try (1F1B, GPipe, ZeroBubbleH1, "
                       "ZeroBubbleV, Interleaved1F1B; with tensor-parallel "
                       "devices Combined1F1B, CombinedInterleaved1F1B)"));
static cl::list<int64_t>
    microbatches("microbatches", cl::CommaSeparated, cl::sub(subCommand),
                 cl::value_desc("count,..."),
                 cl::desc("Numbers of microbatches to try (all that divide the "
                          "batch)"));
static cl::list<int64_t>
    meshes("meshes", cl::CommaSeparated, cl::sub(subCommand),
           cl::value_desc("count,..."),
           cl::desc("Numbers of meshes to try (all that divide the devices)"));
static cl::list<std::string>
    costs("cost", cl::sub(subCommand), cl::value_desc("name=flops:formula"),
          cl::desc("The work of custom calls, such as "
                   "'flash_attention=flops:4*b*h*t*t*d'; may be repeated"));
static cl::opt<std::string>
    output("o", cl::sub(subCommand), cl::value_desc("config.json"),
           cl::desc("Where the configuration for meshwright partition goes"));
static cl::opt<bool> asJson("json", cl::sub(subCommand),
                            cl::desc("Print plan and configuration as JSON"));
static cl::opt<int64_t> compile(
    "compile", cl::sub(subCommand), cl::value_desc("count"),
    cl::desc("Compile this many of the best layouts for the target, and "
             "rank them by what its compiler says"));
static cl::opt<std::string> target(
    "target", cl::sub(subCommand), cl::value_desc("v5p:2x2x4|h100:16"),
    cl::desc("Devices for --compile, instead of --device and --devices"));

static LogicalResult readInput(Session &session, PlanInputs &inputs) {
  if (!StringRef(input).ends_with(".json")) {
    OwningOpRef<ModuleOp> module = session.readModule(input);
    if (!module)
      return failure();
    FailureOr<Layers> read = readLayers(*module, inputs.device, inputs.customs);
    if (failed(read))
      return failure();
    inputs.layers = std::move(*read);
    return success();
  }
  FailureOr<StringRef> text = session.readFile(input);
  if (failed(text))
    return failure();
  llvm::Expected<Layers> read = parseLayers(*text);
  if (!read)
    return reportError(input + ": " + llvm::toString(read.takeError()));
  inputs.layers = std::move(*read);
  return success();
}

/// The rest is done in Python, where the compilers of devices are.
static LogicalResult compileCandidates() {
  SmallVector<std::string> arguments = {input,
                                        "--compile=" + Twine(compile).str()};
  auto add = [&](StringRef option, const Twine &value) {
    arguments.push_back((option + "=" + value).str());
  };
  if (target.getNumOccurrences())
    add("--target", target);
  if (deviceName.getNumOccurrences())
    add("--device", deviceName);
  if (devices.getNumOccurrences())
    add("--devices", Twine(devices));
  if (memory.getNumOccurrences())
    add("--memory", memory);
  for (const std::string &name : schedules)
    add("--schedule", name);
  for (int64_t count : microbatches)
    add("--microbatches", Twine(count));
  for (int64_t count : meshes)
    add("--meshes", Twine(count));
  for (const std::string &cost : costs)
    add("--cost", cost);
  if (output.getNumOccurrences())
    add("--output", output);
  if (asJson)
    arguments.push_back("--json");
  return runPython("programs/plan_command.py", arguments);
}

static LogicalResult run() {
  if (compile.getNumOccurrences())
    return compileCandidates();
  if (target.getNumOccurrences())
    return reportError("--target is for --compile; without it, name --device "
                       "and --devices");
  if (!devices.getNumOccurrences())
    return reportError("expected the number of devices, --devices 16");
  PlanRequest request;
  request.device = deviceName;
  request.devices = devices;
  request.memory = memory;
  request.schedules = schedules;
  request.microbatches.assign(microbatches.begin(), microbatches.end());
  request.meshes.assign(meshes.begin(), meshes.end());
  request.costs = costs;
  llvm::Expected<PlanInputs> inputs = makeInputs(request);
  if (!inputs)
    return reportError(llvm::toString(inputs.takeError()));
  Session session;
  if (failed(readInput(session, *inputs)))
    return failure();
  llvm::Expected<PlanResult> result = findLayout(*inputs);
  if (!result)
    return reportError(llvm::toString(result.takeError()));
  if (!output.empty() &&
      failed(writeFile(output, [&](llvm::raw_ostream &os) -> llvm::Error {
        printConfig(*inputs, result->best, os);
        return llvm::Error::success();
      })))
    return failure();
  if (asJson)
    printResultJson(*inputs, *result, /*candidates=*/0, llvm::outs());
  else
    printResult(*inputs, *result, llvm::outs());
  return success();
}

const Command meshwright::planCommand = {subCommand, run};
