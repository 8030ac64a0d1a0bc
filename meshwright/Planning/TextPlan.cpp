//===- TextPlan.cpp - Plans for those who do not link MLIR ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/TextPlan.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/InitDialects.h"
#include "meshwright/Planning/PlanRequest.h"

using namespace mlir;
using namespace meshwright;

/// The layers of a program; errors go to `error`.
static FailureOr<Layers> readProgram(StringRef text, const PlanInputs &inputs,
                                     std::string &error) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseProgram(text, &context, "program");
  if (!module)
    return failure();
  return readLayers(*module, inputs.device, inputs.customs);
}

static FailureOr<TextPlan> run(const TextPlanRequest &request,
                               std::string &error) {
  PlanRequest options{request.device,    request.devices,      request.memory,
                      request.schedules, request.microbatches, request.meshes,
                      request.costs};
  llvm::Expected<PlanInputs> inputs = makeInputs(options);
  if (!inputs) {
    error = llvm::toString(inputs.takeError());
    return failure();
  }
  if (request.isProgram) {
    FailureOr<Layers> layers = readProgram(request.input, *inputs, error);
    if (failed(layers))
      return failure();
    inputs->layers = std::move(*layers);
  } else {
    llvm::Expected<Layers> layers = parseLayers(request.input);
    if (!layers) {
      error = llvm::toString(layers.takeError());
      return failure();
    }
    inputs->layers = std::move(*layers);
  }
  llvm::Expected<PlanResult> result = findLayout(*inputs);
  if (!result) {
    error = llvm::toString(result.takeError());
    return failure();
  }
  TextPlan plan;
  llvm::raw_string_ostream json(plan.json), text(plan.text);
  printResultJson(*inputs, *result, request.candidates, json);
  printResult(*inputs, *result, text);
  return plan;
}

std::optional<TextPlan> meshwright::makeTextPlan(const TextPlanRequest &request,
                                                 std::string &error) {
  FailureOr<TextPlan> plan = failure();
  std::optional<std::string> crash =
      runGuarded([&] { plan = run(request, error); });
  if (crash)
    error = "the compiler " + *crash + "; this is a bug in Meshwright";
  if (failed(plan))
    return std::nullopt;
  return std::move(*plan);
}
