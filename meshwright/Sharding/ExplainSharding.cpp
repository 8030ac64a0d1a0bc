//===- ExplainSharding.cpp - Where the axes of a value come from ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Propagation writes down what it does. From the step that gave an axis to a
// value the way leads to the value that had it before, and so on to one that
// was annotated.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/ExplainSharding.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/Propagation/SpreadShardings.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"
#include "meshwright/Text/SourcePlace.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace mlir::sdy;

namespace {

/// What happened at one step to an axis on its way.
struct Hop {
  const SpreadStep *step;
  const SpreadEdge *edge;
  unsigned target;
};

class Explanation {
public:
  Explanation(func::FuncOp main, const ShardingTable &table,
              const ShardingOrigins &origins, const SpreadLog &log,
              llvm::raw_ostream &os)
      : main(main), table(table), origins(origins), log(log), os(os) {
    for (unsigned result = 0; result < main.getNumResults(); ++result)
      resultOf[table.getResultSlot(main, result)] = result;
  }

  /// Prints the values that are named; returns how many.
  unsigned print(StringRef value) {
    unsigned count = 0;
    for (unsigned slot = 0; slot < table.getNumSlots(); ++slot) {
      if (!table.getOp(table.getOwner(slot)) || isInner(slot) ||
          !isNamed(slot, value))
        continue;
      if (value.empty() &&
          (!table.get(slot) || table.get(slot).isFullyReplicated()))
        continue;
      printValue(slot);
      ++count;
    }
    return count;
  }

private:
  /// Edge ops speak for the values of data-flow ops.
  bool isInner(unsigned slot) const {
    Value value = getValue(slot);
    return value && table.getSlot(value) != slot;
  }

  Value getValue(unsigned slot) const {
    return resultOf.contains(slot) ? Value() : table.getValue(slot).value;
  }

  bool isNamed(unsigned slot, StringRef name) {
    if (name.empty())
      return true;
    unsigned number;
    StringRef rest = name;
    if (rest.consume_front("result ") && !rest.getAsInteger(10, number))
      return number < main.getNumResults() &&
             slot == table.getResultSlot(main, number);
    rest = name;
    if (rest.consume_front("arg ") && !rest.getAsInteger(10, number))
      return number < main.getNumArguments() &&
             slot == table.getSlot(main.getArgument(number));
    Value value = getValue(slot);
    if (!value)
      return false;
    bool isFound = false;
    value.getLoc()->walk([&](Location loc) {
      if (auto file = dyn_cast<FileLineColLoc>(loc)) {
        std::string line = std::to_string(file.getLine());
        std::string place = (file.getFilename().getValue() + ":" + line).str();
        std::string column = place + ":" + std::to_string(file.getColumn());
        isFound |= name == line || name == place || name == column;
      } else if (auto named = dyn_cast<NameLoc>(loc)) {
        isFound |= named.getName() == name;
      }
      return WalkResult::advance();
    });
    return isFound;
  }

  void printPlace(Location loc) const {
    if (auto place = meshwright::findSourcePlace(loc))
      os << ", " << place->getText();
  }

  static void printOp(Operation *op, llvm::raw_ostream &os) {
    os << op->getName();
    if (auto fragment = dyn_cast<FragmentOp>(op))
      os << " on mesh \"" << fragment.getMeshName() << "\"";
  }

  void printValueName(unsigned slot) {
    if (auto result = resultOf.find(slot); result != resultOf.end()) {
      os << "result " << result->second << " of @" << main.getSymName();
      return;
    }
    Value value = getValue(slot);
    if (auto edge = value.getDefiningOp<DataFlowEdgeOp>())
      value = edge.getInput();
    if (auto arg = dyn_cast<BlockArgument>(value)) {
      Operation *parent = arg.getOwner()->getParentOp();
      os << "argument " << arg.getArgNumber() << " of ";
      if (auto func = dyn_cast<func::FuncOp>(parent))
        os << "@" << func.getSymName();
      else
        printOp(parent, os);
    } else {
      Operation *op = value.getDefiningOp();
      if (op->getNumResults() > 1 || op->getNumRegions() > 0)
        os << "result " << cast<OpResult>(value).getResultNumber() << " of ";
      printOp(op, os);
    }
    printPlace(value.getLoc());
  }

  void printValue(unsigned slot) {
    printValueName(slot);
    TensorShardingAttr sharding = table.get(slot);
    if (!sharding || sharding.isFullyReplicated()) {
      os << ": no axis\n";
      return;
    }
    os << ":\n";
    for (auto [dim, dimSharding] : llvm::enumerate(sharding.getDimShardings()))
      for (AxisRefAttr axis : dimSharding.getAxes())
        printAxis(slot, dim, axis);
  }

  void printAxis(unsigned slot, unsigned dim, AxisRefAttr axis) {
    SmallVector<Hop> hops;
    unsigned from = slot;
    for (size_t end = log.steps.size(); auto hop = findHop(from, axis, end);) {
      end = hop->step - log.steps.data();
      from = hop->step->slots[hop->edge->source];
      hops.push_back(*hop);
    }
    os << "  dimension " << dim << " by " << axis.toString() << ", ";
    // Origins do not tell a function result from what is returned.
    const ShardingOrigin *origin = origins.get(from, axis);
    unsigned annotated =
        !origin || resultOf.contains(from) || resultOf.contains(origin->slot)
            ? from
            : origin->slot;
    if (hops.empty() && annotated == slot) {
      os << "which is written there\n";
      return;
    }
    os << "from ";
    printValueName(annotated);
    os << "\n";
    for (const Hop &hop : llvm::reverse(hops))
      printHop(hop);
  }

  std::optional<Hop> findHop(unsigned slot, AxisRefAttr axis, size_t end) {
    for (bool isExact : {true, false})
      for (const SpreadStep &step : ArrayRef(log.steps).take_front(end))
        for (const SpreadEdge &edge : step.edges)
          if (isExact ? edge.axis == axis : overlaps(edge.axis, axis))
            for (unsigned target : edge.targets)
              if (step.slots[target] == slot)
                return Hop{&step, &edge, target};
    return std::nullopt;
  }

  void printPosition(const SpreadStep &step, unsigned position) const {
    if (position < step.numOperands)
      os << "operand " << position;
    else
      os << "result " << position - step.numOperands;
  }

  void printHop(const Hop &hop) {
    os << "    ";
    switch (hop.step->place) {
    case SpreadStep::Place::Group:
      os << "sharding group " << hop.step->index << ": to ";
      printValueName(hop.step->slots[hop.target]);
      break;
    case SpreadStep::Place::FunctionResult:
      os << "func.return of @" << main.getSymName() << ": "
         << (hop.target == 0 ? "from" : "to") << " result " << hop.step->index;
      break;
    case SpreadStep::Place::Op: {
      Operation *op = table.getOp(hop.step->index);
      if (!op) {
        os << "an op that is gone";
        break;
      }
      if (isa<DataFlowEdgeOp>(op)) {
        os << (hop.target < hop.step->numOperands ? "out of " : "into ");
        printValueName(table.getSlot(op->getResult(0)));
        break;
      }
      printOp(op, os);
      printPlace(op->getLoc());
      os << ": ";
      printPosition(*hop.step, hop.edge->source);
      os << " to ";
      printPosition(*hop.step, hop.target);
    }
    }
    os << "\n";
  }

  func::FuncOp main;
  const ShardingTable &table;
  const ShardingOrigins &origins;
  const SpreadLog &log;
  llvm::raw_ostream &os;
  llvm::DenseMap<unsigned, unsigned> resultOf;
};

} // namespace

LogicalResult mpmd::explainShardings(ModuleOp module, StringRef value,
                                     llvm::raw_ostream &os) {
  FailureOr<func::FuncOp> main = getMainFunction(module);
  if (failed(main))
    return failure();
  unsigned count = 0;
  FailureOr<unsigned> spread = spreadShardings(
      module, SpreadOptions(),
      [&](const ShardingTable &table, const ShardingOrigins &origins,
          const SpreadLog &log) {
        count = Explanation(*main, table, origins, log, os).print(value);
      });
  if (failed(spread))
    return failure();
  if (count > 0)
    return success();
  if (value.empty())
    return main->emitError()
           << "no value is sharded; expected an annotation, such as "
              "sdy.sharding on an argument";
  return main->emitError()
         << "no value is called \"" << value
         << "\"; expected `arg N` or `result N` of @" << main->getSymName()
         << ", a line, file:line, file:line:column, or a name in a location";
}
