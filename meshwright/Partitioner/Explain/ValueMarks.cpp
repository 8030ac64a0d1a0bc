//===- ValueMarks.cpp - Values found again after passes -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Explain/ValueMarks.h"
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

Attribute ValueMarks::getMark(const void *marked, bool &isNew) {
  Attribute &mark = marks[marked];
  isNew = !mark;
  if (isNew)
    mark = StringAttr::get(module.getContext(),
                           "value " + std::to_string(marks.size()));
  return mark;
}

MarkPath *ValueMarks::getPath(BlockArgument arg) {
  bool isNew;
  Attribute mark = getMark(arg.getAsOpaquePointer(), isNew);
  if (isNew)
    arg.setLoc(addMark(arg.getLoc(), mark));
  return paths.get(nullptr, mark, /*isOfCall=*/false);
}

MarkPath *ValueMarks::getPath(const MarkPath *outer, Operation *op) {
  bool isNew;
  Attribute mark = getMark(op, isNew);
  if (isNew)
    op->setLoc(addMark(op->getLoc(), mark));
  return paths.get(outer, mark, isa<CallOpInterface>(op));
}

/// Follows a value into the calls that it is a result of, up to one of `others`,
/// which are followed by themselves: in fewer calls, so that they are found
/// wherever it would be. Returns where it ends, if at an argument.
BlockArgument ValueMarks::trace(Value value, Traces &traces,
                                const llvm::DenseSet<Value> &others) {
  const MarkPath *outer = nullptr;
  llvm::DenseSet<Operation *> open;
  for (bool isFirst = true; isFirst || !others.contains(value);
       isFirst = false) {
    if (auto arg = dyn_cast<BlockArgument>(value)) {
      if (outer)
        return {};
      Block *block = arg.getOwner();
      traces.push_back({getPath(arg),
                        block->getParentOp()->getName(),
                        arg.getArgNumber(),
                        block->getNumArguments(),
                        /*isArgument=*/true,
                        {}});
      return arg;
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    MarkPath *path = getPath(outer, op);
    Value inRegion;
    if (isa<NamedComputationOp, FragmentOp>(op))
      inRegion = op->getRegion(0).front().getTerminator()->getOperand(
          result.getResultNumber());
    traces.push_back({path, op->getName(), result.getResultNumber(),
                      op->getNumResults(),
                      /*isArgument=*/false, inRegion});
    value = passed.getReturned(result);
    if (!value)
      return {};
    // Functions that call themselves are not inlined; values that nothing
    // reaches may read each other.
    if (!open.insert(op).second)
      return {};
    if (llvm::is_contained(op->getOperands(), value))
      continue;
    outer = path;
  }
  return {};
}

/// What regions return is followed there.
void ValueMarks::traceInner(ArrayRef<Trace> traces) {
  SmallVector<Value> returned;
  auto add = [&](ArrayRef<Trace> some) {
    for (const Trace &trace : some)
      if (trace.returned)
        returned.push_back(trace.returned);
  };
  for (add(traces); !returned.empty();) {
    Value value = returned.pop_back_val();
    if (inner.contains(value))
      continue;
    Traces found;
    trace(value, found, {});
    add(found);
    inner[value] = std::move(found);
  }
}

void ValueMarks::markAll(ArrayRef<Value> values) {
  SmallVector<Value> open;
  llvm::DenseSet<Value> seen; // Functions may call themselves.
  auto add = [&](Value value) {
    if (seen.insert(value).second)
      open.push_back(value);
  };
  auto addPassed = [&](Value value) {
    if (auto arg = dyn_cast_if_present<BlockArgument>(value))
      llvm::for_each(passed.getPassed(arg), add);
  };
  llvm::for_each(values, add);
  for (size_t place = 0, next = 0; place < open.size(); ++place) {
    for (; next < open.size(); ++next)
      addPassed(open[next]);
    BlockArgument end = trace(open[place], traces, seen);
    if (end && seen.insert(end).second)
      addPassed(end);
  }
  for (const Trace &trace : traces)
    trace.path->isReplaceable |= trace.count == 1;
  traceInner(traces);
}

class ValueMarks::Finder {
public:
  explicit Finder(const ValueMarks &marks) : marks(marks), search(marks.paths) {
    for (const Trace &trace : marks.traces)
      byPath[trace.path].push_back(&trace);
  }

  void add(Value value) {
    auto addIfMatching = [&](const MarkPath *path) {
      for (const Trace *trace : byPath.lookup(path))
        if (matches(*trace, value))
          exact.insert(value);
    };
    if (value.getDefiningOp<CallOpInterface>())
      search.forEach(value.getLoc(), addIfMatching);
    else
      llvm::for_each(search.findEnds(value.getLoc()), addIfMatching);
    if (search.hasReplaceable(value.getLoc()))
      replaced.insert(value);
  }

  llvm::DenseSet<Value> take() {
    return std::move(exact.empty() ? replaced : exact);
  }

private:
  /// Whether a value with the marks of a trace is what it was followed for.
  bool matches(const Trace &trace, Value value);
  bool matchesInner(const Trace &trace, Value returned);

  const ValueMarks &marks;
  MarkSearch search;
  llvm::DenseMap<const MarkPath *, SmallVector<const Trace *, 1>> byPath;
  /// Of regions in regions, each is asked again for those around it.
  llvm::DenseMap<std::pair<const Trace *, Value>, bool> known;
  llvm::DenseSet<Value> exact, replaced;
};

bool ValueMarks::Finder::matchesInner(const Trace &trace, Value returned) {
  auto [it, isNew] = known.try_emplace({&trace, returned}, false);
  if (!isNew)
    return it->second;
  auto inner = marks.inner.find(trace.returned);
  bool isFound = inner != marks.inner.end() &&
                 llvm::any_of(inner->second, [&](const Trace &other) {
                   return search.has(returned.getLoc(), other.path) &&
                          matches(other, returned);
                 });
  return known[{&trace, returned}] = isFound;
}

bool ValueMarks::Finder::matches(const Trace &trace, Value value) {
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
  if (trace.returned && op->getNumRegions() == 1) {
    SmallVector<bool> found = llvm::map_to_vector(
        op->getRegion(0).front().getTerminator()->getOperands(),
        [&](Value returned) { return matchesInner(trace, returned); });
    if (llvm::is_contained(found, true))
      return found[index];
  }
  return index == trace.index && op->getNumResults() == trace.count;
}

llvm::DenseSet<Value> ValueMarks::find() const {
  Finder finder(*this);
  module->walk([&](Operation *op) {
    for (Value result : op->getResults())
      finder.add(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value arg : block.getArguments())
          finder.add(arg);
  });
  return finder.take();
}

LogicalResult ValueMarks::mark(StringRef name, const WrittenValues &written) {
  auto [base, number] = name.split('#');
  auto it = written.find(base);
  if (it == written.end()) {
    if (written.empty())
      return module.emitError() << "value \"" << name
                                << "\" has a name of a text, and this program "
                                   "is bytecode, in which values have none; "
                                   "give the program as text";
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
  Operation *main = passed.getMain();
  SmallVector<ValueRange> chosen =
      llvm::filter_to_vector(it->second, [&](ValueRange values) {
        return main && main->isAncestor(
                           values.front().getParentRegion()->getParentOp());
      });
  if (chosen.empty())
    chosen = it->second;
  SmallVector<Value> marked;
  unsigned index = 0;
  bool isOne = name.contains('#');
  for (ValueRange values : chosen) {
    if (isOne && (number.getAsInteger(10, index) || index >= values.size()))
      return module.emitError()
             << "value \"" << name << "\": expected a number of one of the "
             << values.size() << " results of " << base << " after #";
    llvm::append_range(marked, isOne ? values.slice(index, 1) : values);
  }
  markAll(marked);
  return success();
}
