//===- Flops.cpp - Floating point work of operations ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A matrix product counts a multiplication and an addition per contracted
// element, elementwise arithmetic one per result element, moving data nothing.
// Windows count the positions that meet a real element, so that padding and
// dilation are not paid for. The time taken does not depend on any size.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Flops.h"
#include "meshwright/Cost/WindowHits.h"
#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshwright;

double meshwright::saturate(double count) {
  return std::isnan(count)
             ? 0
             : std::min(count, std::numeric_limits<double>::max());
}

Work &Work::operator+=(const Work &other) {
  flops = saturate(flops + saturate(other.flops));
  transcendentals = saturate(transcendentals + saturate(other.transcendentals));
  matrixFlops = saturate(matrixFlops + saturate(other.matrixFlops));
  unknown += other.unknown;
  return *this;
}

Work Work::operator*(double factor) const {
  return {saturate(flops * factor), saturate(transcendentals * factor),
          saturate(matrixFlops * factor), unknown};
}

/// A size that is not known counts as one.
static int64_t getSize(ShapedType type, int64_t dim) {
  return type.isDynamicDim(dim) ? 1 : type.getDimSize(dim);
}

static double countElements(ArrayRef<int64_t> sizes) {
  double count = 1;
  for (int64_t size : sizes)
    count *= ShapedType::isDynamic(size) ? 1 : size;
  return count;
}

static double countElements(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? countElements(shaped.getShape()) : 0;
}

static double countElements(Value value) {
  return countElements(value.getType());
}

static double ceilLog2(double count) {
  return count > 1 ? std::ceil(std::log2(count)) : 0;
}

static Work getMatrixWork(double flops) { return {flops, 0, flops}; }

static Work dotWork(Value lhs, Value result, ArrayRef<int64_t> contracting) {
  double inner = 1;
  auto type = cast<ShapedType>(lhs.getType());
  for (int64_t dim : contracting)
    inner *= getSize(type, dim);
  return getMatrixWork(2 * countElements(result) * inner);
}

static Work convolutionWork(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  auto lhs = cast<ShapedType>(op.getLhs().getType());
  auto rhs = cast<ShapedType>(op.getRhs().getType());
  auto result = cast<ShapedType>(op.getResult().getType());
  double perOutput = 2.0 * getSize(lhs, numbers.getInputFeatureDimension()) /
                     op.getFeatureGroupCount();
  double outputs =
      double(getSize(rhs, numbers.getKernelOutputFeatureDimension())) *
      getSize(lhs, numbers.getInputBatchDimension()) / op.getBatchGroupCount();

  auto entry = [](std::optional<ArrayRef<int64_t>> list, unsigned i) {
    return list && i < list->size() ? (*list)[i] : int64_t(1);
  };
  SmallVector<int64_t> padding;
  if (auto attr = op.getPaddingAttr())
    padding.assign(attr.value_begin<int64_t>(), attr.value_end<int64_t>());
  double hits = 1;
  for (unsigned i = 0, e = numbers.getInputSpatialDimensions().size(); i < e;
       ++i) {
    WindowDimension window;
    window.input = getSize(lhs, numbers.getInputSpatialDimensions()[i]);
    window.kernel = getSize(rhs, numbers.getKernelSpatialDimensions()[i]);
    window.output = getSize(result, numbers.getOutputSpatialDimensions()[i]);
    window.stride = entry(op.getWindowStrides(), i);
    window.padLow = padding.empty() ? 0 : padding[size_t(2) * i];
    window.lhsDilation = entry(op.getLhsDilation(), i);
    window.rhsDilation = entry(op.getRhsDilation(), i);
    hits *= countWindowHits(window);
  }
  return getMatrixWork(perOutput * outputs * hits);
}

/// Where shardings are propagated, edges of Shardy are between a loop and its
/// values.
static Value skipEdges(Value value) {
  while (auto edge = value.getDefiningOp<sdy::DataFlowEdgeOp>())
    value = edge.getInput();
  return value;
}

/// A constant, of StableHLO or of Shardy.
static std::optional<double> readConstant(Value value) {
  value = skipEdges(value);
  DenseIntElementsAttr elements;
  if (auto constant = value.getDefiningOp<sdy::ConstantOp>())
    elements = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  else
    matchPattern(value, m_Constant(&elements));
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return double(elements.getSplatValue<APInt>().getSExtValue());
}

std::optional<double> meshwright::readTripCount(Operation *whileOp) {
  auto op = cast<stablehlo::WhileOp>(whileOp);
  auto *condition = op.getCond().front().getTerminator();
  auto compare =
      condition->getNumOperands() == 1
          ? condition->getOperand(0).getDefiningOp<stablehlo::CompareOp>()
          : nullptr;
  if (!compare ||
      compare.getComparisonDirection() != stablehlo::ComparisonDirection::LT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(skipEdges(compare.getLhs()));
  if (!counter || counter.getOwner() != &op.getCond().front())
    return std::nullopt;
  unsigned index = counter.getArgNumber();
  Block &body = op.getBody().front();
  Operation *next = body.getTerminator();
  auto step =
      skipEdges(next->getOperand(index)).getDefiningOp<stablehlo::AddOp>();
  if (!step)
    return std::nullopt;
  Value counted = body.getArgument(index);
  Value left = skipEdges(step.getLhs()), right = skipEdges(step.getRhs());
  if (left != counted && right != counted)
    return std::nullopt;
  // The limit may be a constant outside that is passed around the loop.
  Value limit = skipEdges(compare.getRhs());
  if (auto passed = dyn_cast<BlockArgument>(limit);
      passed && passed.getOwner() == counter.getOwner() &&
      skipEdges(next->getOperand(passed.getArgNumber())) ==
          body.getArgument(passed.getArgNumber()))
    limit = op->getOperand(passed.getArgNumber());
  std::optional<double> from = readConstant(op->getOperand(index));
  std::optional<double> to = readConstant(limit);
  std::optional<double> stride = readConstant(left == counted ? right : left);
  // As signed and unsigned numbers alike.
  if (!from || !to || !stride || *stride <= 0 || *from < 0 || *to < 0)
    return std::nullopt;
  return std::max(0.0, std::ceil((*to - *from) / *stride));
}

static Work reduceWindowWork(stablehlo::ReduceWindowOp op, Work body) {
  double window = countElements(op.getWindowDimensions()), scan = 0;
  auto input = cast<ShapedType>(op.getInputs().front().getType());
  // A window as wide as its dimension is a scan in disguise.
  for (auto [dim, size] : llvm::enumerate(op.getWindowDimensions()))
    if (size > 1 && size == input.getDimSize(dim))
      scan += ceilLog2(size);
  double outputs = countElements(op->getResult(0));
  double applications = (window - 1) * outputs;
  if (scan > 0)
    applications = std::min(applications, countElements(input) * scan);
  return body * applications;
}

static double fftWork(stablehlo::FftOp op) {
  double logs = 0;
  for (int64_t length : op.getFftLength())
    logs += length > 1 ? llvm::Log2_64(length) : 0;
  return 8 *
         std::max(countElements(op.getOperand()),
                  countElements(op.getResult())) *
         logs;
}

bool meshwright::movesDataOnly(Operation *op) {
  return isa<stablehlo::GatherOp, stablehlo::DynamicGatherOp,
             stablehlo::SliceOp, stablehlo::DynamicSliceOp,
             stablehlo::DynamicUpdateSliceOp, stablehlo::RealDynamicSliceOp,
             stablehlo::TransposeOp, stablehlo::ReshapeOp,
             stablehlo::DynamicReshapeOp, stablehlo::BroadcastOp,
             stablehlo::BroadcastInDimOp, stablehlo::DynamicBroadcastInDimOp,
             stablehlo::ConcatenateOp, stablehlo::PadOp,
             stablehlo::DynamicPadOp, stablehlo::ReverseOp, stablehlo::IotaOp,
             stablehlo::DynamicIotaOp, stablehlo::ConstantOp,
             stablehlo::BitcastConvertOp, stablehlo::OptimizationBarrierOp,
             stablehlo::TupleOp, stablehlo::GetTupleElementOp,
             stablehlo::GetDimensionSizeOp, stablehlo::SetDimensionSizeOp,
             stablehlo::TorchIndexSelectOp, stablehlo::AllGatherOp,
             stablehlo::AllToAllOp, stablehlo::CollectivePermuteOp,
             stablehlo::CollectiveBroadcastOp, stablehlo::PartitionIdOp,
             stablehlo::ReplicaIdOp, chlo::ConstantOp, chlo::ConstantLikeOp>(
      op);
}

bool meshwright::isTranscendental(Operation *op) {
  if (isa<stablehlo::ExponentialOp, stablehlo::ExponentialMinusOneOp,
          stablehlo::LogOp, stablehlo::LogPlusOneOp, stablehlo::LogisticOp,
          stablehlo::PowerOp, stablehlo::SqrtOp, stablehlo::RsqrtOp,
          stablehlo::CbrtOp, stablehlo::TanhOp, stablehlo::SineOp,
          stablehlo::CosineOp, stablehlo::TanOp, stablehlo::Atan2Op,
          stablehlo::RngOp, stablehlo::RngBitGeneratorOp>(op))
    return true;
  return isa_and_nonnull<chlo::ChloDialect>(op->getDialect()) &&
         !isa<chlo::TopKOp, chlo::SquareOp, chlo::BroadcastAddOp,
              chlo::BroadcastSubtractOp, chlo::BroadcastMultiplyOp,
              chlo::BroadcastDivideOp, chlo::BroadcastCompareOp,
              chlo::BroadcastSelectOp>(op);
}

Work WorkEstimator::estimate(Region &region) {
  Work sum;
  for (Block &block : region)
    for (Operation &op : block)
      sum += estimate(&op);
  return sum;
}

Work WorkEstimator::estimateCallee(SymbolRefAttr callee) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      symbolTableOp, callee);
  if (!function || function.isExternal())
    return {0, 0, 0, 1};
  // An entry made beforehand ends the recursion of a cyclic call graph.
  auto [known, isNew] = callees.try_emplace(function.getOperation());
  if (!isNew)
    return known->second;
  Work work = estimate(function.getFunctionBody());
  return callees[function.getOperation()] = work;
}

/// Into how many parts the devices of the manual axes divide the work.
static double countManualParts(sdy::ManualComputationOp manual) {
  double parts = 1;
  for (auto shardings : {manual.getInShardings(), manual.getOutShardings()})
    for (sdy::TensorShardingAttr sharding : shardings)
      if (sdy::MeshAttr mesh = sharding.getMesh(manual)) {
        for (StringAttr axis : manual.getManualAxes())
          parts *= mesh.findAxisSize(axis).value_or(1);
        return parts;
      }
  return parts;
}

std::optional<double>
WorkEstimator::evaluate(Operation *customCall,
                        std::optional<SizeExpression> CustomCost::*formula) {
  StringRef name =
      cast<stablehlo::CustomCallOp>(customCall).getCallTargetName();
  auto found = customs.find(name);
  if (found == customs.end() || !(found->second.*formula))
    return std::nullopt;
  const CustomCost &cost = found->second;
  auto type =
      customCall->getNumOperands()
          ? dyn_cast<RankedTensorType>(customCall->getOperand(0).getType())
          : RankedTensorType();
  size_t rank = type ? type.getRank() : 0;
  if (cost.isComplete ? rank == cost.dimensions.size()
                      : rank >= cost.dimensions.size()) {
    SmallVector<int64_t> sizes;
    for (size_t dim = 0; dim < cost.dimensions.size(); ++dim)
      sizes.push_back(getSize(type, dim));
    return std::max(0.0, (found->second.*formula)->evaluate(sizes));
  }
  if (warnedOfRank.insert(name.str()).second)
    customCall->emitWarning()
        << "is not counted: its cost has " << cost.dimensions.size()
        << " dimensions, but its first operand has " << rank
        << "; name the dimensions of that operand";
  return std::nullopt;
}

std::optional<double> WorkEstimator::countCustomBytes(Operation *customCall) {
  return evaluate(customCall, &CustomCost::bytes);
}

Work WorkEstimator::estimateCustomCall(Operation *customCall) {
  auto call = cast<stablehlo::CustomCallOp>(customCall);
  // Marks of partitioners, which compute nothing.
  StringRef name = call.getCallTargetName();
  if (name == "Sharding" || name == "SPMDFullToShardShape" ||
      name == "SPMDShardToFullShape" || name == "xla.sdy.FuncResultSharding")
    return {};
  if (std::optional<double> flops = evaluate(customCall, &CustomCost::flops))
    return getMatrixWork(*flops);
  uncounted.insert(name.str());
  return {0, 0, 0, 1};
}

/// Ops that the sizes of operands and results say all of; nothing of others.
static std::optional<Work> estimateBySizes(Operation *op) {
  auto getLastSize = [](ShapedType type) {
    return getSize(type, type.getRank() - 1);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Work>>(op)
      .Case([&](stablehlo::DotGeneralOp dot) {
        return dotWork(
            dot.getLhs(), dot.getResult(),
            dot.getDotDimensionNumbers().getLhsContractingDimensions());
      })
      .Case([&](stablehlo::DotOp dot) {
        int64_t rank = cast<ShapedType>(dot.getLhs().getType()).getRank();
        return dotWork(dot.getLhs(), dot.getResult(), {rank - 1});
      })
      .Case(
          [&](stablehlo::ConvolutionOp conv) { return convolutionWork(conv); })
      .Case([&](stablehlo::SortOp sort) {
        double count = countElements(sort.getInputs().front());
        return Work{count * ceilLog2(count)};
      })
      .Case([&](stablehlo::FftOp fft) { return Work{fftWork(fft)}; })
      .Case([&](stablehlo::TriangularSolveOp solve) {
        return Work{2 * countElements(solve.getB()) *
                    getLastSize(solve.getA().getType())};
      })
      .Case([&](stablehlo::CholeskyOp cholesky) {
        return Work{countElements(cholesky.getA()) *
                    getLastSize(cholesky.getA().getType()) / 3};
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Ops that apply a computation to elements; nothing of others.
std::optional<Work> WorkEstimator::estimateApplications(Operation *op) {
  auto apply = [&](double count, Region &body) {
    return estimate(body) * std::max(0.0, count);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Work>>(op)
      .Case([&](stablehlo::ReduceOp reduce) {
        return apply(countElements(reduce.getInputs().front()) -
                         countElements(reduce->getResult(0)),
                     reduce.getBody());
      })
      .Case([&](stablehlo::ReduceWindowOp reduce) {
        return reduceWindowWork(reduce, estimate(reduce.getBody()));
      })
      .Case([&](stablehlo::SelectAndScatterOp scatter) {
        double window = countElements(
            scatter.getWindowDimensions().value_or(ArrayRef<int64_t>()));
        Work once = estimate(scatter.getSelect()) * (window - 1);
        once += estimate(scatter.getScatter());
        return once * countElements(scatter.getSource());
      })
      .Case([&](stablehlo::ScatterOp scatter) {
        return apply(countElements(scatter.getUpdates().front()),
                     scatter.getUpdateComputation());
      })
      .Case<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(
          [&](Operation *reduce) {
            return apply(countElements(reduce->getOperand(0)),
                         reduce->getRegion(0));
          })
      .Case([&](stablehlo::MapOp map) {
        return apply(countElements(map.getResult()), map.getComputation());
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Ops that run other ops as programs do; nothing of others.
std::optional<Work> WorkEstimator::estimateControlFlow(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Work>>(op)
      .Case([&](stablehlo::WhileOp loop) {
        Work trip = estimate(loop.getCond());
        trip += estimate(loop.getBody());
        std::optional<double> count = readTripCount(loop);
        trip = trip * count.value_or(1);
        trip.unknown += !count;
        return trip;
      })
      .Case<stablehlo::CaseOp, stablehlo::IfOp>([&](Operation *branches) {
        Work most;
        for (Region &branch : branches->getRegions()) {
          Work work = estimate(branch);
          if (work.flops + work.transcendentals >
              most.flops + most.transcendentals)
            most = work;
        }
        return most;
      })
      .Case([&](CallOpInterface call) {
        auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
        return callee ? estimateCallee(callee) : Work{0, 0, 0, 1};
      })
      .Case([&](stablehlo::CompositeOp composite) {
        return estimateCallee(composite.getDecompositionAttr());
      })
      .Case([&](stablehlo::CustomCallOp) { return estimateCustomCall(op); })
      .Case([&](sdy::ManualComputationOp manual) {
        return estimate(manual.getBody()) * countManualParts(manual);
      })
      .Default([](Operation *) { return std::nullopt; });
}

Work WorkEstimator::estimate(Operation *op) {
  if (std::optional<Work> work = estimateBySizes(op))
    return *work;
  if (std::optional<Work> work = estimateApplications(op))
    return *work;
  if (std::optional<Work> work = estimateControlFlow(op))
    return *work;
  Work work;
  for (Region &region : op->getRegions())
    work += estimate(region);
  // Terminators and ops with bodies of their own compute nothing else.
  if (op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() ||
      op->getNumResults() == 0 || movesDataOnly(op) ||
      isa_and_nonnull<sdy::SdyDialect>(op->getDialect()))
    return work;
  double count = countElements(op->getResult(0));
  (isTranscendental(op) ? work.transcendentals : work.flops) += count;
  return work;
}
