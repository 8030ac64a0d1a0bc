//===- partition.cpp - Meshwright as a library ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Partitions a program and prints what each mesh does, in order:
//
//   meshwright-example docs/first.mlir docs/first.json
//
//===----------------------------------------------------------------------===//

#include "meshwright/InitDialects.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static void print(const meshwright::ExportedProgram &program,
                  const meshwright::ExportedProgram::Item &item) {
  llvm::outs() << program.meshes[item->fromMesh].name;
  if (item->fragment) {
    func::FuncOp function = program.fragments[*item->fragment].function;
    llvm::outs() << " calls " << function.getSymName() << "\n";
  } else {
    llvm::outs() << " sends "
                 << int64_t(program.values[item.results.front()].bytes)
                 << " bytes to " << program.meshes[item->toMesh].name << "\n";
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: " << argv[0] << " PROGRAM.mlir CONFIG.json\n";
    return 1;
  }
  DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler printer(sources, &context);

  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(argv[1], sources, &context);
  auto json = llvm::MemoryBuffer::getFile(argv[2]);
  if (!module || !json)
    return 1;
  FailureOr<meshwright::PartitionConfig> config =
      meshwright::parsePartitionConfig((*json)->getBuffer(), argv[2], &context);
  if (failed(config))
    return 1;
  FailureOr<meshwright::PartitionResult> result =
      meshwright::partition(*module, *config);
  if (failed(result))
    return 1;
  for (const meshwright::ExportedProgram::Item &item : result->program->items)
    print(*result->program, item);
  return 0;
}
