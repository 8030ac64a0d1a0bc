//===- Layers.h - What a pipeline is cut from -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
//   {"batch": 64, "dtype": "bf16",
//    "layers": [{"name": "embed", "flops": 0, "parameter_bytes": 4e8,
//                "activation_bytes": 8e6},
//               {"name": "block", "repeat": 24, "flops": 1e12,
//                "parameter_bytes": 2e8, "activation_bytes": 8e6,
//                "residual_bytes": 1e8, "tensor_reduces": 2}]}
//
// Where layers are no line, each says of which "tower" it is, and of which towers it
// "reads" the last layer. Those of a tower come together, after those that they read.
//
// Flops and activations are those of one example in the forward pass.
// docs/plan.md lists the keys. Layers of a program are its named computations.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_LAYERS_H
#define MESHWRIGHT_PLANNING_LAYERS_H

#include "meshwright/Cost/CustomCost.h"
#include "meshwright/Cost/Device.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace meshwright {

struct Layer {
  std::string name;
  double flops = 0;         ///< Of one example, forward.
  double backwardFlops = 0; ///< Of one example.
  double parameterBytes = 0;
  /// Of one example: what the next layer reads, and what the backward pass
  /// keeps of the forward one.
  double activationBytes = 0, residualBytes = 0;
  /// Sums over the devices of a tensor-parallel layer, in each direction.
  double tensorReduces = 2;
  std::vector<std::string> reads; ///< Towers before its own.
};

/// A line of layers: begin, ..., end - 1.
struct LayerTower {
  std::string name;
  size_t begin, end;
};

struct Layers {
  std::vector<Layer> layers;
  std::vector<LayerTower> towers; ///< Empty if all are one line.
  int64_t batch = 1;              ///< Examples of a step.
  /// The only number of microbatches; of a program that has them already.
  std::optional<int64_t> microbatches;
  /// Whether products are of bf16, else of f32.
  bool isNarrow = true;
  std::string function; ///< Empty if the config need not name it.
  /// Custom calls of a program, of unknown work.
  std::set<std::string> uncounted;
};

/// Errors say where in the text something is missing or wrong.
llvm::Expected<Layers> parseLayers(llvm::StringRef text);

/// The layers of a program before it is partitioned, with the bytes in which
/// `device` keeps their values. Emits an error if it has no named computation.
mlir::FailureOr<Layers> readLayers(mlir::ModuleOp module, const Device &device,
                                   const CustomCosts &customs);

} // namespace meshwright

#endif
