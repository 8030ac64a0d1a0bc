//===- ValueMarks.cpp - Values found again behind passes ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/ValueMarks.h"
#include "meshwright/Calls/CallOrder.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Text/NearestName.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

static Location addMark(Location location, Attribute mark) {
  return FusedLoc::get({location}, mark, location.getContext());
}

static bool hasMarks(Location location, ArrayRef<Attribute> marks) {
  return llvm::all_of(marks, [&](Attribute mark) {
    return location
        ->walk([&](Location inner) {
          auto fused = dyn_cast<FusedLoc>(inner);
          return fused && fused.getMetadata() == mark ? WalkResult::interrupt()
                                                      : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

Attribute ValueMarks::getMark(const void *marked) {
  Attribute &mark = marks[marked];
  if (!mark)
    mark = StringAttr::get(module.getContext(),
                           "value " + std::to_string(marks.size()));
  return mark;
}

void ValueMarks::trace(Value value, ArrayRef<Attribute> around,
                       std::vector<Trace> &traces) {
  if (auto result = dyn_cast<OpResult>(value))
    return traceResult(result, around, traces);
  auto arg = cast<BlockArgument>(value);
  Attribute mark = getMark(value.getAsOpaquePointer());
  if (!hasMarks(arg.getLoc(), mark))
    arg.setLoc(addMark(arg.getLoc(), mark));
  SmallVector<Attribute> all(around);
  all.push_back(mark);
  Operation *parent = arg.getOwner()->getParentOp();
  traces.push_back({all,
                    parent->getName(),
                    arg.getArgNumber(),
                    arg.getOwner()->getNumArguments(),
                    /*isArgument=*/true,
                    {}});
  if (!isa<func::FuncOp>(parent) || !seenArguments.insert(value).second)
    return;
  module->walk([&](CallOpInterface call) {
    if (getCallee(call, symbols) == parent)
      trace(call.getArgOperands()[arg.getArgNumber()], {}, traces);
  });
}

void ValueMarks::traceResult(OpResult result, ArrayRef<Attribute> around,
                             std::vector<Trace> &traces) {
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  Attribute mark = getMark(op);
  if (!hasMarks(op->getLoc(), mark))
    op->setLoc(addMark(op->getLoc(), mark));
  SmallVector<Attribute> all(around);
  all.push_back(mark);
  Trace own{all,
            op->getName(),
            index,
            op->getNumResults(),
            /*isArgument=*/false,
            {}};
  if (isa<NamedComputationOp, FragmentOp>(op)) {
    Value returned =
        op->getRegion(0).front().getTerminator()->getOperand(index);
    trace(returned, {}, own.inner);
  }
  traces.push_back(own);
  auto call = dyn_cast<CallOpInterface>(op);
  func::FuncOp callee = call ? getCallee(call, symbols) : func::FuncOp();
  // Functions that call themselves are not inlined.
  if (!callee || callee.isExternal() || llvm::is_contained(around, mark))
    return;
  auto end = dyn_cast<func::ReturnOp>(callee.getBody().back().getTerminator());
  if (!end)
    return;
  Value returned = end.getOperand(index);
  auto arg = dyn_cast<BlockArgument>(returned);
  if (arg && arg.getOwner() == &callee.getBody().front())
    trace(call.getArgOperands()[arg.getArgNumber()], around, traces);
  else
    trace(returned, all, traces);
}

bool ValueMarks::matches(const Trace &trace, Value value) {
  if (!hasMarks(value.getLoc(), trace.marks))
    return false;
  auto arg = dyn_cast<BlockArgument>(value);
  if (trace.isArgument != (arg != nullptr))
    return false;
  Operation *op =
      arg ? arg.getOwner()->getParentOp() : cast<OpResult>(value).getOwner();
  bool isNamed =
      trace.name == op->getName() ||
      (trace.name.getStringRef() == NamedComputationOp::getOperationName() &&
       isa<FragmentOp>(op));
  if (!isNamed || arg)
    return isNamed;
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (!trace.inner.empty() && op->getNumRegions() == 1) {
    SmallVector<bool> found = llvm::map_to_vector(
        op->getRegion(0).front().getTerminator()->getOperands(),
        [&](Value returned) {
          return llvm::any_of(trace.inner, [&](const Trace &inner) {
            return matches(inner, returned);
          });
        });
    if (llvm::is_contained(found, true))
      return found[index];
  }
  return index == trace.index && op->getNumResults() == trace.count;
}

llvm::DenseSet<Value> ValueMarks::find() const {
  llvm::DenseSet<Value> exact, replaced;
  auto add = [&](Value value) {
    for (const Trace &trace : traces)
      if (matches(trace, value))
        exact.insert(value);
      else if (trace.count == 1 && hasMarks(value.getLoc(), trace.marks))
        replaced.insert(value);
  };
  module->walk([&](Operation *op) {
    llvm::for_each(op->getResults(), add);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), add);
  });
  return exact.empty() ? replaced : exact;
}

LogicalResult ValueMarks::mark(StringRef name, const WrittenValues &written) {
  auto [base, number] = name.split('#');
  auto it = written.find(base);
  if (it == written.end()) {
    if (written.empty())
      return module.emitError() << "value \"" << name
                                << "\" has a name of a text, and this program "
                                   "is bytecode, in which values have none";
    SmallVector<StringRef> known =
        llvm::map_to_vector(written.keys(), [](StringRef key) { return key; });
    llvm::sort(known);
    InFlightDiagnostic error = module.emitError()
                               << "no value of the program is written \""
                               << name << "\"";
    if (StringRef nearest = findNearest(base, known); !nearest.empty())
      error << "; did you mean \"" << nearest << "\"?";
    return error;
  }
  func::FuncOp main = symbols.lookup<func::FuncOp>("main");
  SmallVector<ValueRange> chosen =
      llvm::filter_to_vector(it->second, [&](ValueRange values) {
        return main && main->isAncestor(
                           values.front().getParentRegion()->getParentOp());
      });
  if (chosen.empty())
    chosen = it->second;
  unsigned index = 0;
  bool isOne = name.contains('#');
  for (ValueRange values : chosen) {
    if (isOne && (number.getAsInteger(10, index) || index >= values.size()))
      return module.emitError()
             << "value \"" << name << "\": expected a number of one of the "
             << values.size() << " results of " << base << " behind #";
    for (Value value : isOne ? values.slice(index, 1) : values)
      trace(value, {}, traces);
  }
  return success();
}
