//===- Traits.h - Traits of StableHLO operations ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TRAITS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_TRAITS_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::stablehlo {

namespace detail {
LogicalResult verifyCompatibleTypes(Operation *op);
LogicalResult verifyCompatibleElementTypes(Operation *op);
Speculation::Speculatability speculateIfStaticOperands(Operation *op);
Speculation::Speculatability speculateIfStaticDimsCarry(Operation *op);
inline Speculation::Speculatability
likeBody(Speculation::Speculatability speculatability) {
  return speculatability == Speculation::Speculatable
             ? Speculation::RecursivelySpeculatable
             : speculatability;
}
} // namespace detail

/// Groups of processes may be axes of a mesh, which must exist.
template <typename ConcreteType>
class ReplicaGroupsUser
    : public OpTrait::TraitBase<ConcreteType, ReplicaGroupsUser> {};

/// The operands may be swapped. Deliberately not upstream's trait, which would
/// let canonicalization reorder them and CSE merge swapped operations.
template <typename ConcreteType>
class IsCommutative : public OpTrait::TraitBase<ConcreteType, IsCommutative> {};

/// All operand and result types are compatible.
template <typename ConcreteType>
class CompatibleTypes
    : public OpTrait::TraitBase<ConcreteType, CompatibleTypes> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    return detail::verifyCompatibleTypes(op);
  }
};

/// The element types of all operands and results are compatible.
template <typename ConcreteType>
class CompatibleElementTypes
    : public OpTrait::TraitBase<ConcreteType, CompatibleElementTypes> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    return detail::verifyCompatibleElementTypes(op);
  }
};

/// Written result types need only be compatible with the inferred ones.
template <typename ConcreteType>
class RelaxedInference
    : public OpTrait::TraitBase<ConcreteType, RelaxedInference> {};

/// May be executed early if all operands are statically shaped.
template <typename ConcreteType>
class SpeculatableIfStaticOperands
    : public OpTrait::TraitBase<ConcreteType, SpeculatableIfStaticOperands> {
public:
  Speculation::Speculatability getSpeculatability() {
    return detail::speculateIfStaticOperands(this->getOperation());
  }
};

/// May be executed early if all operands are statically shaped, and those that
/// the definition names are constants.
template <typename ConcreteType>
class SpeculatableIfConstant
    : public OpTrait::TraitBase<ConcreteType, SpeculatableIfConstant> {};

/// May be executed early unless the result is static in a dimension that is
/// dynamic in the first operand: such a program asserts the size at run time.
template <typename ConcreteType>
class SpeculatableIfStaticDimsCarry
    : public OpTrait::TraitBase<ConcreteType, SpeculatableIfStaticDimsCarry> {
public:
  Speculation::Speculatability getSpeculatability() {
    return detail::speculateIfStaticDimsCarry(this->getOperation());
  }
};

/// May be executed early if its body may and all operands are static.
template <typename ConcreteType>
class SpeculatableLikeBodyIfStaticOperands
    : public OpTrait::TraitBase<ConcreteType,
                                SpeculatableLikeBodyIfStaticOperands> {
public:
  Speculation::Speculatability getSpeculatability() {
    return detail::likeBody(
        detail::speculateIfStaticOperands(this->getOperation()));
  }
};

/// May be executed early if its body may, unless the result is static in a
/// dimension that is dynamic in the first operand.
template <typename ConcreteType>
class SpeculatableLikeBodyIfStaticDimsCarry
    : public OpTrait::TraitBase<ConcreteType,
                                SpeculatableLikeBodyIfStaticDimsCarry> {
public:
  Speculation::Speculatability getSpeculatability() {
    return detail::likeBody(
        detail::speculateIfStaticDimsCarry(this->getOperation()));
  }
};

} // namespace mlir::stablehlo

#endif
