//===- ApplyConfiguration.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Files/ErrorWatch.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/BitVector.h"

#define GEN_PASS_DEF_APPLYCONFIGURATIONPASS
#include "meshwright/Partitioner/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool isDonatedByProgram(func::FuncOp func, unsigned index) {
  if (func.getArgAttr(index, kAliasingOutputAttr))
    return true;
  auto donor = func.getArgAttrOfType<BoolAttr>(index, kBufferDonorAttr);
  return donor && donor.getValue();
}

/// An argument that the program itself donates must be listed, if anything is.
static LogicalResult verifyDonation(func::FuncOp func,
                                    ArrayRef<int64_t> indices) {
  unsigned count = func.getNumArguments();
  llvm::BitVector listed(count);
  for (int64_t index : indices) {
    if (index < 0 || index >= count)
      return func.emitError()
             << "donate: argument " << index << " does not exist; @"
             << func.getSymName() << " has " << count << " arguments";
    listed.set(index);
  }
  for (unsigned i = 0; i < count; ++i)
    if (listed.any() && !listed.test(i) && isDonatedByProgram(func, i))
      return emitError(func.getArgument(i).getLoc())
             << "argument " << i << " of @" << func.getSymName()
             << " is donated by the program, but \"donate\" does not list it; "
                "add it, or leave \"donate\" out";
  return success();
}

namespace {
struct ApplyConfigurationPass
    : mpmd::impl::ApplyConfigurationPassBase<ApplyConfigurationPass> {
  using Base::Base;

  void runOnOperation() override {
    const std::string &name = function.getValue().text;
    auto func = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!func || func.isExternal()) {
      getOperation().emitError() << "function: no function @" << name
                                 << " with a body in this program";
      return signalPassFailure();
    }
    std::string text = "#mpmd.topology" + topology.getValue().text;
    meshwright::ErrorWatch watch(&getContext());
    auto attribute =
        dyn_cast_or_null<TopologyAttr>(parseAttribute(text, &getContext()));
    if (!attribute || watch.hasSeenError()) {
      getOperation().emitError()
          << "topology: expected the part after #mpmd.topology, as in "
             "<<\"m\" : <[\"x\"=2]>>>";
      return signalPassFailure();
    }
    if (failed(verifyDonation(func, *donate)))
      return signalPassFailure();
    setTopology(func, attribute);
    ++numFunctions;
    addDonors(func);
    // One that says "public" goes on saying so.
    if (!func.isPublic())
      func.setPublic();
  }

private:
  /// All at once: each change of one entry leaves a list of all in the context.
  void addDonors(func::FuncOp func) {
    SmallVector<DictionaryAttr> entries;
    func.getAllArgAttrs(entries);
    auto isDonor = BoolAttr::get(&getContext(), true);
    for (int64_t index : donate) {
      NamedAttrList entry(entries[index]);
      if (isDonatedByProgram(func, index) ||
          entry.get(kBufferDonorAttr) == isDonor)
        continue;
      entry.set(kBufferDonorAttr, isDonor);
      entries[index] = entry.getDictionary(&getContext());
      ++numDonated;
    }
    func.setAllArgAttrs(entries);
  }
};
} // namespace
