//===- Stages.cpp - What a run of layers costs on a mesh ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/Stages.h"
#include <algorithm>

using namespace meshwright;

/// Bytes of parameters, gradients and Adam's state for each byte of a
/// parameter: 2 + 2 + 12 of bf16, 4 + 4 + 8 of f32.
static constexpr double kStatePerNarrow = 8, kStatePerWide = 4;

static void add(StageCost &sum, const StageCost &other, double sign = 1) {
  sum.forward += sign * other.forward;
  sum.backward += sign * other.backward;
  sum.input += sign * other.input;
  sum.weight += sign * other.weight;
  sum.reduces += sign * other.reduces;
  sum.stepEnd += sign * other.stepEnd;
  sum.fixedBytes += sign * other.fixedBytes;
  sum.keptBytes += sign * other.keptBytes;
  sum.residualBytes += sign * other.residualBytes;
}

StageCosts::StageCosts(const Layers &layers, const Device &device,
                       MeshSplit split, int64_t examples, bool recomputes)
    : device(device), recomputes(recomputes) {
  double data = split.data, tensor = split.tensor;
  double local = double(examples) / data;
  double speed =
      layers.isNarrow
          ? device.bf16.value_or(device.f32.value_or(0))
          : device.tf32.value_or(device.f32.value_or(device.bf16.value_or(0)));
  speed *= device.flopsEfficiency;
  double state = layers.isNarrow ? kStatePerNarrow : kStatePerWide;
  sums.emplace_back();
  borders.push_back(0);
  for (const Layer &layer : layers.layers) {
    double parameters = layer.parameterBytes / tensor;
    double activations = layer.activationBytes * local;
    double residuals =
        std::max(layer.residualBytes, layer.activationBytes) * local / tensor;
    // Bound by operations, or by what is read and written once.
    auto bound = [&](double flops, double bytes) {
      return std::max(flops * local / (tensor * speed),
                      bytes / device.getMemorySpeed()) +
             device.launch;
    };
    Collective sum;
    sum.participants = split.tensor;
    sum.bytes = activations;
    double reduces = layer.tensorReduces * estimateSeconds(sum, device);
    StageCost cost;
    cost.forward = bound(layer.flops, parameters + residuals) + reduces;
    double again = recomputes ? cost.forward : 0;
    double half = layer.backwardFlops / 2;
    if (layer.backwardFlops > 0) {
      cost.input = bound(half, parameters + residuals) + reduces + again;
      cost.weight = bound(half, parameters + residuals);
    }
    cost.backward = cost.input + cost.weight;
    cost.reduces =
        reduces * (layer.backwardFlops > 0 ? (recomputes ? 3 : 2) : 1);
    cost.fixedBytes = layer.backwardFlops > 0 ? parameters * state : parameters;
    // Of a stage that computes again, what goes into it is kept; get adds it.
    (recomputes ? cost.residualBytes : cost.keptBytes) =
        layer.backwardFlops > 0 ? residuals : 0;
    if (layer.backwardFlops > 0 && parameters > 0) {
      Collective gradients;
      gradients.participants = split.data;
      gradients.bytes = parameters;
      // Latency once for the whole stage is nothing beside the bytes.
      cost.stepEnd = estimateSeconds(gradients, device) +
                     2 * parameters * state / device.getMemorySpeed();
    }
    add(cost, sums.back());
    sums.push_back(cost);
    borders.push_back(activations);
  }
}

StageCost StageCosts::get(size_t begin, size_t end) const {
  StageCost cost = sums[end];
  add(cost, sums[begin], -1);
  // Differences of sums may end a hair below nothing.
  for (double *figure :
       {&cost.forward, &cost.backward, &cost.input, &cost.weight, &cost.reduces,
        &cost.stepEnd, &cost.fixedBytes, &cost.keptBytes, &cost.residualBytes})
    *figure = std::max(0.0, *figure);
  if (recomputes)
    cost.keptBytes = borders[begin];
  return cost;
}

double StageCosts::getTransfer(size_t end, bool crossesDomain) const {
  return getTransferTime(borders[end], device,
                         crossesDomain ? Route::Network : Route::Domain);
}
