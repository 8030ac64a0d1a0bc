//===- BodyCost.cpp - Kernels, bytes and time of a body -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each kernel takes as long as what binds it, its operations or its bytes; a
// body takes the sum, since a device runs one kernel after the other.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/BodyCost.h"
#include "meshwright/Cost/Kernels.h"
#include "meshwright/Cost/ShardedOp.h"
#include "meshwright/Cost/Temporaries/BlockValues.h"
#include "meshwright/Cost/Temporaries/SplitProducts.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <tuple>

using namespace mlir;
using namespace meshwright;

namespace {
/// Bytes that a kernel reads or writes.
struct Traffic {
  double bytes = 0;
  double moved = 0; ///< How many could be moved in the same time.

  void operator+=(const Traffic &other) {
    bytes += other.bytes;
    moved += other.moved;
  }
};

/// What ops of one kernel add up to, on one device.
struct Kernel {
  double matrixSeconds = 0;
  double vectorFlops = 0, transcendentals = 0;
  /// By value: the most that an op of the kernel reads of it.
  llvm::SmallMapVector<Value, Traffic, 8> reads;
  Traffic others;      ///< What is written, and what custom calls read.
  bool isEmpty = true; ///< Nothing is launched for it.

  void addRead(Value value, const Traffic &read) {
    Traffic &most = reads[value];
    most.bytes = std::max(most.bytes, read.bytes);
    most.moved = std::max(most.moved, read.moved);
  }
  Traffic countTraffic() const {
    Traffic sum = others;
    for (const auto &[value, read] : reads)
      sum += read;
    return sum;
  }
};
} // namespace

static void addScaled(FragmentCost &sum, const FragmentCost &cost,
                      double factor) {
  for (double FragmentCost::*part :
       {&FragmentCost::matrixFlops, &FragmentCost::vectorFlops,
        &FragmentCost::transcendentals, &FragmentCost::bytes,
        &FragmentCost::kernels, &FragmentCost::computeSeconds,
        &FragmentCost::collectiveSeconds})
    sum.*part = saturate(sum.*part + saturate(cost.*part * factor));
  addSteps(sum.steps, cost.steps, factor);
  sum.unknownLoops += cost.unknownLoops;
  for (Collective collective : cost.collectives) {
    collective.count = saturate(collective.count * factor);
    sum.collectives.push_back(std::move(collective));
  }
}

/// What each device has of an operand that was brought into another sharding.
static double countReceivedBytes(const Collective &collective) {
  return collective.kind == CollectiveKind::AllGather
             ? collective.bytes
             : collective.bytes /
                   std::max(1.0, double(collective.participants));
}

static MatrixPrecision getPrecision(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>("precision_config");
  MatrixPrecision precision = MatrixPrecision::Default;
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto one = dyn_cast<stablehlo::PrecisionAttr>(entry);
    if (one && one.getValue() == stablehlo::Precision::HIGHEST)
      precision = MatrixPrecision::Highest;
    else if (one && one.getValue() == stablehlo::Precision::HIGH &&
             precision == MatrixPrecision::Default)
      precision = MatrixPrecision::High;
  }
  return precision;
}

static Type getElement(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type ? type.getElementType() : value.getType();
}

/// What an op reads of an operand: slices read what they give, updates and
/// scatters leave the rest of their first operand where it is.
static double countRead(OpOperand &operand, sdy::MeshAttr mesh) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  if (isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::GatherOp,
          stablehlo::DynamicGatherOp>(op) &&
      number == 0)
    return countLocalBytes(op->getResult(0), mesh);
  if (isa<stablehlo::DynamicUpdateSliceOp>(op) && number == 0)
    return 0;
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op);
      scatter && number < scatter.getInputs().size())
    return countLocalBytes(scatter.getUpdates()[number], mesh);
  return countLocalBytes(operand.get(), mesh);
}

static double countWritten(OpResult result, sdy::MeshAttr mesh) {
  Operation *op = result.getOwner();
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return countLocalBytes(update.getUpdate(), mesh);
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return countLocalBytes(scatter.getUpdates()[result.getResultNumber()],
                           mesh);
  return countLocalBytes(result, mesh);
}

/// What an op moves of a value. The vector unit of a TPU takes as long for each element
/// as for a word; its matrix unit reads elements as they are.
static Traffic measureTraffic(Operation *op, Value value, double bytes,
                              const Device &device) {
  Type element = getElement(value);
  double bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (!device.tiling || isProduct(op) || bits == 0)
    return {bytes, bytes};
  auto word = static_cast<double>(device.tiling->wordBits);
  // A boolean takes a byte.
  return {bytes, bytes * std::max(1.0, word / (bits == 1 ? 8 : bits))};
}

/// Returns the seconds that the kernel takes.
static double addKernel(FragmentCost &cost, const Kernel &kernel,
                        const Device &device) {
  Traffic traffic = kernel.countTraffic();
  double vector =
      kernel.vectorFlops + kPerTranscendental * kernel.transcendentals;
  if (kernel.isEmpty)
    return 0;
  double seconds =
      std::max({kernel.matrixSeconds, vector / device.getVectorSpeed(),
                traffic.moved / device.getMemorySpeed()});
  cost.bytes += traffic.bytes;
  cost.kernels += 1;
  cost.computeSeconds += seconds + device.launch;
  return seconds + device.launch;
}

namespace {
/// Kernels and collectives of a block in order. A kernel is where its last op is.
class StepOrder {
public:
  explicit StepOrder(size_t numKernels) : lastOf(numKernels, 0) {}

  void addKernel(unsigned kernel) {
    lastOf[kernel] = entries.size();
    entries.push_back({{0, false}, kernel});
  }
  void add(ChainStep step) { entries.push_back({step, kNoKernel}); }

  std::vector<ChainStep> get(llvm::ArrayRef<double> kernelSeconds) const {
    std::vector<ChainStep> steps;
    for (auto [index, entry] : llvm::enumerate(entries)) {
      auto [step, kernel] = entry;
      if (kernel == kNoKernel)
        addStep(steps, step);
      else if (lastOf[kernel] == index)
        addStep(steps, {kernelSeconds[kernel], false});
    }
    return steps;
  }

private:
  static constexpr unsigned kNoKernel = ~0u;

  std::vector<std::pair<ChainStep, unsigned>> entries;
  std::vector<size_t> lastOf;
};
} // namespace

namespace {
/// Adds up what the ops of a block cost.
class BlockCost {
public:
  BlockCost(Block &block, sdy::MeshAttr mesh, const Device &device,
            WorkEstimator &works)
      : block(block), mesh(mesh), device(device), works(works),
        kernels(block, device), sums(kernels.getCount()),
        order(kernels.getCount()), kept(block, kernels, mesh, device) {}

  /// Ops come in their order; `nested` is what the body of one costs that has one.
  void add(Operation *op, const std::optional<FragmentCost> &nested) {
    ShardedOp shared = nested ? addNested(op, *nested) : addToKernel(op);
    if (!shared.collectives.empty())
      times.exchanging.insert(op);
    addCollectives(op, shared);
    for (OpResult result : op->getResults())
      kept.add(result);
  }
  FragmentCost finish(func::FuncOp fragment, FreeTimes &freeTimes);

private:
  ShardedOp addNested(Operation *op, const FragmentCost &body);
  ShardedOp addToKernel(Operation *op);
  void addWork(Operation *op, double parts, Kernel &kernel);
  void addTraffic(Operation *op, double parts, Kernel &kernel);
  void addCollectives(Operation *op, ShardedOp &shared);

  Block &block;
  sdy::MeshAttr mesh;
  const Device &device;
  WorkEstimator &works;

  Kernels kernels;
  std::vector<Kernel> sums; ///< By kernel.
  StepOrder order;
  BlockValues kept;
  BlockTimes times;
  FragmentCost cost;
  /// What was brought into another sharding for one reader is there for others.
  std::set<std::tuple<const void *, CollectiveKind, std::vector<std::string>,
                      double>>
      exchanged;
};
} // namespace

ShardedOp BlockCost::addNested(Operation *op, const FragmentCost &body) {
  times.nested[op] = body.freeSeconds;
  if (!body.collectives.empty())
    times.exchanging.insert(op);
  addScaled(cost, body, 1);
  for (ChainStep step : body.steps)
    order.add(step);
  kept.addNested(op, body.temporaryBytes);
  ShardedOp shared;
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    for (auto [operand, to] :
         llvm::zip(manual.getTensors(), manual.getInShardings()))
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        addReshard(type, sdy::getSharding(operand), to, mesh,
                   shared.collectives);
  return shared;
}

ShardedOp BlockCost::addToKernel(Operation *op) {
  Kernel &kernel = sums[kernels.get(op)];
  ShardedOp shared = shareOp(op, mesh);
  addWork(op, shared.parts, kernel);
  if (!isFree(op) && !shared.isExchange && !kernels.isInReaders(op)) {
    kernel.isEmpty = false;
    order.addKernel(kernels.get(op));
    addTraffic(op, shared.parts, kernel);
  }
  return shared;
}

void BlockCost::addWork(Operation *op, double parts, Kernel &kernel) {
  Work work = works.estimate(op) * (1 / parts);
  kept.addWithin(op, countSplitSums(op, parts, mesh, device));
  double vector = work.flops - work.matrixFlops;
  cost.matrixFlops += work.matrixFlops;
  cost.vectorFlops += vector;
  cost.transcendentals += work.transcendentals;
  if (work.matrixFlops > 0)
    kernel.matrixSeconds +=
        work.matrixFlops /
        device.getMatrixSpeed(getElement(op->getNumOperands()
                                             ? op->getOperand(0)
                                             : op->getResult(0)),
                              getPrecision(op));
  kernel.vectorFlops += vector;
  kernel.transcendentals += work.transcendentals;
}

/// What the kernel of an op reads and writes for it.
void BlockCost::addTraffic(Operation *op, double parts, Kernel &kernel) {
  std::optional<double> bytes = isa<stablehlo::CustomCallOp>(op)
                                    ? works.countCustomBytes(op)
                                    : std::nullopt;
  if (bytes) {
    kernel.others += {*bytes / parts, *bytes / parts};
    return;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    Value read = kernels.getRead(operand);
    Operation *source = read ? read.getDefiningOp() : nullptr;
    bool isInside = source && source->getBlock() == &block &&
                    kernels.get(source) == kernels.get(op);
    if (isInside || !read)
      continue;
    double size = read == operand.get() ? countRead(operand, mesh)
                                        : countLocalBytes(read, mesh);
    kernel.addRead(read, measureTraffic(op, read, size, device));
  }
  for (OpResult result : op->getResults())
    if (kernels.isStored(result))
      kernel.others +=
          measureTraffic(op, result, countWritten(result, mesh), device);
}

void BlockCost::addCollectives(Operation *op, ShardedOp &shared) {
  for (auto [index, collective] : llvm::enumerate(shared.collectives)) {
    if (index < shared.operands.size()) {
      if (!exchanged
               .insert({shared.operands[index].getAsOpaquePointer(),
                        collective.kind, collective.axes, collective.bytes})
               .second)
        continue;
      kept.addWithin(op, countReceivedBytes(collective));
    }
    double seconds = estimateSeconds(collective, device);
    cost.collectiveSeconds += seconds;
    order.add({seconds, true});
    cost.collectives.push_back(std::move(collective));
  }
}

FragmentCost BlockCost::finish(func::FuncOp fragment, FreeTimes &freeTimes) {
  cost.temporaryBytes =
      fragment ? kept.countTemporaries(fragment) : kept.count();
  for (const Kernel &kernel : sums)
    times.seconds.push_back(addKernel(cost, kernel, device));
  cost.steps = order.get(times.seconds);
  if (device.tiling)
    freeTimes.add(block, std::move(kernels), std::move(times));
  return std::move(cost);
}

FragmentCost BodyEstimator::estimateCallee(SymbolRefAttr callee) {
  auto function = symbols.lookup<func::FuncOp>(callee.getRootReference());
  if (!function || function.isExternal())
    return {};
  // An entry made beforehand ends the recursion of a cyclic call graph.
  auto [known, isNew] = callees.try_emplace(function);
  if (!isNew)
    return known->second;
  FragmentCost cost = estimateFunction(function, false);
  return callees[function] = cost;
}

/// Of a loop or a branch. Each trip of a loop waits for the one before.
static double countFreeOfWhole(const FragmentCost &cost) {
  return cost.collectives.empty() ? cost.computeSeconds : 0;
}

std::optional<FragmentCost> BodyEstimator::estimateNested(Operation *op) {
  FragmentCost cost;
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    FragmentCost body = estimate(loop.getBody().front());
    addScaled(body, estimate(loop.getCond().front()), 1);
    std::optional<double> trips = readTripCount(loop);
    addScaled(cost, body, trips.value_or(1));
    cost.unknownLoops += !trips;
    cost.freeSeconds = countFreeOfWhole(cost);
    cost.temporaryBytes = body.temporaryBytes;
    return cost;
  }
  if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) {
    for (Region &branch : op->getRegions()) {
      FragmentCost other = estimate(branch.front());
      double most = std::max(cost.temporaryBytes, other.temporaryBytes);
      if (other.getSeconds() > cost.getSeconds())
        cost = other;
      cost.temporaryBytes = most;
    }
    cost.freeSeconds = countFreeOfWhole(cost);
    return cost;
  }
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    return estimate(manual.getBody().front());
  if (auto named = dyn_cast<sdy::NamedComputationOp>(op))
    return estimate(named.getBody().front());
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
    return callee ? estimateCallee(callee) : cost;
  }
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return estimateCallee(composite.getDecompositionAttr());
  return std::nullopt;
}

FragmentCost BodyEstimator::estimate(Block &block, func::FuncOp fragment) {
  BlockCost cost(block, mesh, device, works);
  for (Operation &op : block.without_terminator())
    cost.add(&op, estimateNested(&op));
  return cost.finish(fragment, freeTimes);
}

FragmentCost BodyEstimator::estimateFunction(func::FuncOp function,
                                             bool isFragment) {
  FragmentCost cost =
      estimate(function.front(), isFragment ? function : func::FuncOp());
  Operation *terminator = function.front().getTerminator();
  llvm::BitVector resharded(terminator->getNumOperands());
  // Results may be wanted in another sharding than they are computed in.
  if (mesh && mesh.getTotalSize() > 1) {
    std::vector<Collective> reshards;
    for (OpOperand &operand : terminator->getOpOperands()) {
      size_t numBefore = reshards.size();
      if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()))
        addReshard(type, sdy::getSharding(operand.get()),
                   sdy::getResultSharding(function, operand.getOperandNumber()),
                   mesh, reshards);
      if (reshards.size() > numBefore)
        resharded.set(operand.getOperandNumber());
    }
    for (Collective &collective : reshards) {
      double seconds = estimateSeconds(collective, device);
      cost.collectiveSeconds += seconds;
      addStep(cost.steps, {seconds, true});
      cost.collectives.push_back(std::move(collective));
    }
  }
  if (device.tiling)
    cost.freeSeconds = freeTimes.count(function.front(), resharded);
  return cost;
}
