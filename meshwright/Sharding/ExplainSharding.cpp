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
#include "meshwright/Dialect/Sdy/Propagation/PropagateShardings.h"
#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"
#include "meshwright/Text/SourcePlace.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/Support/JSON.h"
#include <deque>

using namespace mlir;
using namespace mlir::mpmd;
using namespace mlir::sdy;

namespace {

/// The most steps that are reported of one path.
constexpr size_t maxSteps = 64;

/// What is called so was erased, since nothing reads it.
constexpr const char *goneName = "an op that is gone";

/// What happened at one step to an axis on its way.
struct Hop {
  const PropagationStep *step;
  const PropagationEdge *edge;
  unsigned target;

  unsigned getSource() const { return step->slots[edge->source]; }
};

/// The way of an axis from its annotation to a slot, which other slots share: all
/// ways of a chain together are as long as its square.
struct Way {
  const Hop *last;
  const Way *before; ///< Null if `last` left the annotation.
  /// The first steps of it, or all if they are few.
  const Way *beginning;
  unsigned annotated; ///< The slot.
  size_t length;
};

class Explanation {
public:
  Explanation(func::FuncOp main, const ShardingTable &table,
              const ShardingOrigins &origins, const PropagationLog &log)
      : main(main), table(table), origins(origins), log(log) {
    for (unsigned result = 0; result < main.getNumResults(); ++result)
      resultOf[table.getResultSlot(main, result)] = result;
    for (const PropagationStep &step : log.steps)
      for (const PropagationEdge &edge : step.edges)
        for (unsigned target : edge.targets)
          hopsTo[step.slots[target]].push_back({&step, &edge, target});
  }

  /// Explains the values that are chosen, or named.
  std::vector<ExplainedValue> explain(StringRef name, ValueFilter isChosen) {
    std::vector<ExplainedValue> values;
    for (unsigned slot = 0; slot < table.getNumSlots(); ++slot) {
      if (!table.getOp(table.getOwner(slot)) || isInner(slot))
        continue;
      Value value = getShownValue(slot);
      if (isChosen ? !value || !isChosen(value) : !isNamed(slot, name))
        continue;
      if (name.empty() &&
          (!table.get(slot) || table.get(slot).isFullyReplicated()))
        continue;
      values.push_back(explainValue(slot));
    }
    return values;
  }

private:
  /// Edge ops represent the values of data-flow ops.
  bool isInner(unsigned slot) const {
    Value value = getValue(slot);
    return value && table.getSlot(value) != slot;
  }

  Value getValue(unsigned slot) const {
    return resultOf.contains(slot) ? Value() : table.getValue(slot).value;
  }

  /// The value that an edge op represents.
  Value getShownValue(unsigned slot) const {
    Value value = getValue(slot);
    auto edge = value ? value.getDefiningOp<DataFlowEdgeOp>() : nullptr;
    return edge ? edge.getInput() : value;
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
    return isNamed(value.getLoc(), name);
  }

  /// Calls in calls share the outer part of their stacks: each is looked at once.
  bool isNamed(LocationAttr location, StringRef name) {
    SmallVector<CallSiteLoc> stack;
    auto known = isNamedAt.find(location);
    for (; known == isNamedAt.end(); known = isNamedAt.find(location)) {
      auto site = dyn_cast<CallSiteLoc>(location);
      if (!site)
        break;
      stack.push_back(site);
      location = site.getCaller();
    }
    bool isFound =
        known == isNamedAt.end() ? hasName(location, name) : known->second;
    isNamedAt[location] = isFound;
    for (CallSiteLoc site : llvm::reverse(stack)) {
      isFound = isFound || hasName(site.getCallee(), name);
      isNamedAt[site] = isFound;
    }
    return isFound;
  }

  static bool hasName(LocationAttr location, StringRef name) {
    bool isFound = false;
    location.walk([&](Location loc) {
      if (auto file = dyn_cast<FileLineColLoc>(loc)) {
        std::string line = std::to_string(file.getLine());
        std::string place = (file.getFilename().getValue() + ":" + line).str();
        std::string column = place + ":" + std::to_string(file.getColumn());
        isFound |= name == line || name == place || name == column;
      } else if (auto named = dyn_cast<NameLoc>(loc)) {
        isFound |= named.getName() == name;
      }
      return isFound ? WalkResult::interrupt() : WalkResult::advance();
    });
    return isFound;
  }

  static std::string getOpName(Operation *op) {
    std::string name = op->getName().getStringRef().str();
    if (auto fragment = dyn_cast<FragmentOp>(op))
      name += " on mesh \"" + fragment.getMeshName().str() + "\"";
    return name;
  }

  /// The results of functions and the arguments of declarations are no values.
  std::string getNameWithoutValue(unsigned slot) {
    auto func =
        dyn_cast_or_null<func::FuncOp>(table.getOp(table.getOwner(slot)));
    if (!func)
      return goneName;
    unsigned first = table.getResultSlot(func, 0); // After the arguments.
    std::string name =
        slot < first ? "argument " +
                           std::to_string(func.getNumArguments() + slot - first)
                     : "result " + std::to_string(slot - first);
    return name + " of @" + func.getSymName().str();
  }

  std::string getName(unsigned slot) {
    std::string ofMain = " of @" + main.getSymName().str();
    if (auto result = resultOf.find(slot); result != resultOf.end())
      return "result " + std::to_string(result->second) + ofMain;
    Value value = getShownValue(slot);
    if (!value)
      return getNameWithoutValue(slot);
    if (auto arg = dyn_cast<BlockArgument>(value)) {
      Operation *parent = arg.getOwner()->getParentOp();
      auto func = dyn_cast<func::FuncOp>(parent);
      return "argument " + std::to_string(arg.getArgNumber()) +
             (func ? " of @" + func.getSymName().str()
                   : " of " + getOpName(parent));
    }
    Operation *op = value.getDefiningOp();
    std::string name = getOpName(op);
    if (op->getNumResults() > 1 || op->getNumRegions() > 0)
      name = "result " +
             std::to_string(cast<OpResult>(value).getResultNumber()) + " of " +
             name;
    return name;
  }

  ExplainedPlace getPlace(unsigned slot) const {
    Value value = getShownValue(slot);
    return value ? meshwright::findSourcePlace(value.getLoc())
                 : ExplainedPlace();
  }

  ExplainedValue explainValue(unsigned slot) {
    ExplainedValue value{getName(slot), getPlace(slot), {}};
    TensorShardingAttr sharding = table.get(slot);
    if (!sharding)
      return value;
    for (auto [dim, dimSharding] : llvm::enumerate(sharding.getDimShardings()))
      for (AxisRefAttr axis : dimSharding.getAxes())
        value.axes.push_back(explainAxis(slot, dim, axis));
    return value;
  }

  ExplainedAxis explainAxis(unsigned slot, unsigned dim, AxisRefAttr axis) {
    const Way *way = findWay(slot, axis);
    unsigned from = way ? way->annotated : slot;
    // Origins do not distinguish a function result from what is returned.
    const ShardingOrigin *origin = origins.get(from, axis);
    unsigned annotated =
        !origin || resultOf.contains(from) || resultOf.contains(origin->slot)
            ? from
            : origin->slot;
    return {dim,
            axis.toString(),
            !way && annotated == slot,
            getName(annotated),
            getPlace(annotated),
            explainWay(way)};
  }

  /// As seen from the annotation.
  std::vector<ExplainedStep> explainWay(const Way *way) {
    std::vector<ExplainedStep> steps;
    auto addBackwards = [&](const Way *end, size_t count) {
      for (; end && count; end = end->before, --count)
        steps.push_back(explainHop(*end->last));
    };
    if (way && way->length > maxSteps) {
      addBackwards(way, maxSteps / 2);
      std::string left = std::to_string(way->length - maxSteps);
      steps.push_back({"... " + left + " steps more", {}, ""});
      way = way->beginning;
    }
    addBackwards(way, maxSteps);
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const Way *findWay(unsigned slot, AxisRefAttr axis) {
    // What is not known yet, from the slot backwards.
    SmallVector<const Hop *> open;
    const Way *way = nullptr;
    const Hop *hop = findHop(slot, axis, log.steps.data() + log.steps.size());
    while (hop && !(way = ways.lookup({hop, axis}))) {
      open.push_back(hop);
      hop = findHop(hop->getSource(), axis, hop->step);
    }
    for (const Hop *last : llvm::reverse(open)) {
      Way &longer = allWays.emplace_back(
          Way{last, way, nullptr, last->getSource(), /*length=*/1});
      longer.beginning = &longer;
      if (way) {
        longer.annotated = way->annotated;
        longer.length = way->length + 1;
        if (longer.length > maxSteps / 2)
          longer.beginning = way->beginning;
      }
      ways[{last, axis}] = way = &longer;
    }
    return way;
  }

  /// By which hop before `end` a slot got an axis, if it did.
  const Hop *findHop(unsigned slot, AxisRefAttr axis,
                     const PropagationStep *end) {
    auto hops = hopsTo.find(slot);
    if (hops == hopsTo.end())
      return nullptr;
    for (bool isExact : {true, false})
      for (const Hop &hop : hops->second) {
        if (hop.step >= end)
          break;
        AxisRefAttr other = hop.edge->axis;
        if (isExact ? other == axis : overlaps(other, axis))
          return &hop;
      }
    return nullptr;
  }

  static std::string getPosition(const PropagationStep &step,
                                 unsigned position) {
    return position < step.numOperands
               ? "operand " + std::to_string(position)
               : "result " + std::to_string(position - step.numOperands);
  }

  ExplainedStep explainHop(const Hop &hop) {
    const PropagationStep &step = *hop.step;
    std::string index = std::to_string(step.index);
    if (step.place == PropagationStep::Place::Group) {
      unsigned target = step.slots[hop.target];
      std::string direction = "to " + getName(target);
      if (ExplainedPlace place = getPlace(target))
        direction += ", " + place->getText();
      return {"sharding group " + index, {}, direction};
    }
    if (step.place == PropagationStep::Place::FunctionResult)
      return {"func.return of @" + main.getSymName().str(),
              {},
              (hop.target == 0 ? "from result " : "to result ") + index};
    Operation *op = table.getOp(step.index);
    if (!op)
      return {goneName, {}, ""};
    if (isa<DataFlowEdgeOp>(op)) {
      unsigned slot = table.getSlot(op->getResult(0));
      return {(hop.target < step.numOperands ? "out of " : "into ") +
                  getName(slot),
              getPlace(slot), ""};
    }
    return {getOpName(op), meshwright::findSourcePlace(op->getLoc()),
            getPosition(step, hop.edge->source) + " to " +
                getPosition(step, hop.target)};
  }

  func::FuncOp main;
  const ShardingTable &table;
  const ShardingOrigins &origins;
  const PropagationLog &log;
  llvm::DenseMap<unsigned, unsigned> resultOf;
  /// By the slot that got an axis, in the order of the log.
  llvm::DenseMap<unsigned, SmallVector<Hop>> hopsTo;
  std::deque<Way> allWays;
  llvm::DenseMap<std::pair<const Hop *, AxisRefAttr>, const Way *> ways;
  llvm::DenseMap<Attribute, bool> isNamedAt;
};

} // namespace

FailureOr<std::vector<ExplainedValue>>
mpmd::explainShardings(ModuleOp module, StringRef value, ValueFilter isChosen) {
  FailureOr<func::FuncOp> main = getMainFunction(module);
  if (failed(main))
    return failure();
  std::vector<ExplainedValue> values;
  FailureOr<unsigned> changed = propagateShardings(
      module, PropagationConfig(),
      [&](const ShardingTable &table, const ShardingOrigins &origins,
          const PropagationLog &log) {
        values =
            Explanation(*main, table, origins, log).explain(value, isChosen);
      });
  if (failed(changed))
    return failure();
  if (!values.empty())
    return values;
  if (value.empty())
    return main->emitError()
           << "no value is sharded; expected an annotation, such as "
              "sdy.sharding on an argument";
  if (isChosen)
    return main->emitError()
           << "value \"" << value
           << "\" was removed before shardings propagate: nothing reads it, or "
              "it was merged into another value; name a value that reads it, "
              "or one that it is computed from";
  return main->emitError()
         << "no value is called \"" << value
         << "\"; expected `arg N` or `result N` of @" << main->getSymName()
         << ", a line, file:line, file:line:column, a name in a location, or "
            "`%name` of the text";
}

static std::string getPlaceText(const ExplainedPlace &place) {
  return place ? ", " + place->getText() : "";
}

void mpmd::printExplanation(ArrayRef<ExplainedValue> values,
                            llvm::raw_ostream &os) {
  for (const ExplainedValue &value : values) {
    os << value.name << getPlaceText(value.place) << ":"
       << (value.axes.empty() ? " no axis" : "") << "\n";
    for (const ExplainedAxis &axis : value.axes) {
      os << "  dimension " << axis.dimension << " by " << axis.axis << ", ";
      if (axis.isWritten)
        os << "which is written there\n";
      else
        os << "from " << axis.source << getPlaceText(axis.place) << "\n";
      for (const ExplainedStep &step : axis.steps) {
        os << "    " << step.operation << getPlaceText(step.place);
        if (!step.direction.empty())
          os << ": " << step.direction;
        os << "\n";
      }
    }
  }
}

/// JSON is UTF-8; names and paths are whatever their authors made them.
static void writeText(llvm::json::OStream &json, StringRef key,
                      StringRef text) {
  json.attribute(key, meshwright::toUtf8(text));
}

static void writePlace(llvm::json::OStream &json, const ExplainedPlace &place) {
  if (!place)
    return json.attribute("place", nullptr);
  json.attributeObject("place", [&] {
    writeText(json, "file", place->file);
    json.attribute("line", place->line);
    json.attribute("column", place->column);
  });
}

static void writeAxis(llvm::json::OStream &json, const ExplainedAxis &axis) {
  json.attribute("dimension", axis.dimension);
  writeText(json, "axis", axis.axis);
  json.attribute("written", axis.isWritten);
  json.attributeObject("source", [&] {
    writeText(json, "name", axis.source);
    writePlace(json, axis.place);
  });
  json.attributeArray("steps", [&] {
    for (const ExplainedStep &step : axis.steps)
      json.object([&] {
        writeText(json, "operation", step.operation);
        writePlace(json, step.place);
        writeText(json, "direction", step.direction);
      });
  });
}

void mpmd::writeExplanation(ArrayRef<ExplainedValue> values,
                            llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const ExplainedValue &value : values)
      json.object([&] {
        writeText(json, "name", value.name);
        writePlace(json, value.place);
        json.attributeArray("axes", [&] {
          for (const ExplainedAxis &axis : value.axes)
            json.object([&] { writeAxis(json, axis); });
        });
      });
  });
  os << "\n";
}
