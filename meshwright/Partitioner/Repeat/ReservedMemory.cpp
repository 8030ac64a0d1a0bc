//===- ReservedMemory.cpp - What waits while a fragment runs --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/ReservedMemory.h"
#include "meshwright/Cost/TensorBytes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;

using Item = ExportedProgram::Item;
using Slot = ExportedProgram::Slot;

static constexpr int64_t kBitsPerByte = 8;

static bool usesHosts(const ExportedProgram &program) {
  auto isSomewhere = [](const Slot &slot) { return !slot.memoryKind.empty(); };
  return llvm::any_of(program.values.getKinds(),
                      [](const ExportedProgram::Value &kind) {
                        return !kind.memoryKind.empty();
                      }) ||
         llvm::any_of(program.fragments,
                      [&](const ExportedProgram::Fragment &fragment) {
                        return llvm::any_of(fragment.arguments, isSomewhere) ||
                               llvm::any_of(fragment.results, isSomewhere);
                      });
}

std::optional<std::vector<int64_t>>
meshwright::findReservedBytes(const ExportedProgram &program) {
  if (usesHosts(program))
    return std::nullopt;
  std::vector<int64_t> bitsOfKind;
  for (const ExportedProgram::Value &kind : program.values.getKinds()) {
    sdy::MeshAttr mesh = program.meshes[kind.mesh].shape;
    RankedTensorType local =
        kind.sharding ? kind.sharding.getLocalTensorType(kind.type, mesh)
                      : kind.type;
    bitsOfKind.push_back(countBits(local));
  }
  auto getBits = [&](unsigned value) {
    return bitsOfKind[program.values.getKindOfEach()[value]];
  };

  std::vector<const Item *> lastReaders(program.values.size(), nullptr);
  for (const Item &item : program.items)
    for (unsigned operand : item.operands)
      lastReaders[operand] = &item;
  llvm::BitVector isOutput(program.values.size()), isKept = isOutput;
  for (const ExportedProgram::Boundary &output : program.outputs)
    isOutput.set(output.value);

  std::vector<int64_t> alive(program.meshes.size(), 0);
  auto add = [&](unsigned value, int64_t sign) {
    addCount(alive[program.values[value].mesh], sign * getBits(value));
  };
  for (const ExportedProgram::Boundary &input : program.inputs) {
    bool isGivenUp = input.slot.isDonated && !input.slot.alias;
    bool isRead = lastReaders[input.value] || isOutput.test(input.value);
    if (isRead || !isGivenUp)
      add(input.value, 1);
    if (!isGivenUp)
      isKept.set(input.value);
  }
  std::vector<int64_t> most(program.fragments.size(),
                            std::numeric_limits<int64_t>::min());
  for (const Item &item : program.items) {
    llvm::SmallSetVector<unsigned, 32> operands(llvm::from_range,
                                                item.operands);
    if (item->fragment) {
      int64_t waiting = alive[item->fromMesh];
      for (unsigned operand : operands)
        addCount(waiting, -getBits(operand));
      most[*item->fragment] = std::max(
          most[*item->fragment], llvm::divideCeilSigned(waiting, kBitsPerByte));
    }
    for (unsigned operand : operands)
      if (lastReaders[operand] == &item && !isKept.test(operand) &&
          !isOutput.test(operand))
        add(operand, -1);
    for (unsigned result : item.results)
      if (lastReaders[result] || isOutput.test(result))
        add(result, 1);
  }
  return most;
}
