//===- StrategyPass.h - What the passes of propagation share ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_STRATEGYPASS_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_STRATEGYPASS_H

#include "meshwright/Dialect/Sdy/Propagation/Passes.h"

namespace mlir::sdy {

/// A pass with the options that all strategies have. Its own ones, and which
/// loops it has, `Derived::choose` adds.
template <typename Derived, template <typename> class GeneratedBase>
struct StrategyPass : GeneratedBase<Derived> {
  using Base = GeneratedBase<Derived>;
  using Base::Base;

  void runOnOperation() override {
    PropagationConfig options;
    options.isConservative = this->conservativePropagation;
    options.keepShardingRules = this->keepShardingRules;
    options.debugShardingOrigins = this->debugShardingOrigins;
    options.debugPropagationEdgeSharding = this->debugPropagationEdgeSharding;
    options.dumpDirectory = this->moduleDumpDirectory;
    static_cast<const Derived *>(this)->choose(options);
    FailureOr<unsigned> numChanged =
        propagateShardings(this->getOperation(), options);
    if (failed(numChanged))
      return this->signalPassFailure();
    this->numShardings += *numChanged;
  }
};

} // namespace mlir::sdy

#endif
