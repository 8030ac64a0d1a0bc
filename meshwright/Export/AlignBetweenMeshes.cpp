//===- AlignBetweenMeshes.cpp - One program for what meshes do alike ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The updates of all meshes are often the same operations, and yet a program each: one
// returns the optimizer's count, one adds up the losses, one returns its results in
// another order.
//
//   %0:2 = fragment<"m0", []> (%x, %n)     {w = …; c = %n + 1; return w, c}
//   %1:2 = fragment<"m1", []> (%l, %y, %n) {s = %l / 4; w = …; c = %n + 1; return s, w}
//   // become
//   %0:2 = fragment<"m0", []> (%x, %n) {w = …; c = %n + 1; return w, c}
//   %s   = fragment<"m1", []> (%l)     {s = %l / 4; return s}
//   %1:2 = fragment<"m1", []> (%y, %n) {w = …; c = %n + 1; return w, c}
//
// A fragment is known by its *core*: its body without what computes scalars from scalars
// apart from all else, and without what it returns. Fragments with one core that return
// the same arrays are made to return the same scalars, too, in the order of the one that
// returns most.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Export/Alike/ScalarPart.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/IR/EqualBodies.h"
#include "meshwright/IR/RebuildOp.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_ALIGNBETWEENMESHESPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// How many constants a fragment may return for nothing.
static constexpr int64_t kMostConstants = 8;

namespace {
/// What is known of an operand or a result, apart from its mesh.
struct Kind {
  Kind(Type type, DictionaryAttr attrs)
      : type(type), attrs(attrs && !attrs.empty() ? attrs : DictionaryAttr()) {
    if (auto onMesh = dyn_cast<MeshTensorType>(type))
      this->type = MeshTensorType::get(
          type.getContext(), /*meshName=*/"", onMesh.getRankedTensorType(),
          onMesh.getSharding(), onMesh.getMemoryKind());
  }

  /// The type on a mesh.
  Type on(StringRef mesh) const {
    auto onMesh = dyn_cast<MeshTensorType>(type);
    return onMesh ? MeshTensorType::get(
                        type.getContext(), mesh, onMesh.getRankedTensorType(),
                        onMesh.getSharding(), onMesh.getMemoryKind())
                  : type;
  }
  bool operator==(const Kind &other) const {
    return type == other.type && attrs == other.attrs;
  }
  bool isScalar() const {
    auto onMesh = dyn_cast<MeshTensorType>(type);
    return onMesh && onMesh.getShape().empty() && !onMesh.getMemoryKind() &&
           !(attrs && attrs.contains(kMemoryKindAttr));
  }

  Type type;
  DictionaryAttr attrs;
};

/// A value of a core, by its number there, or a constant scalar, as it is returned.
struct Returned {
  unsigned number;
  Attribute constant;
  Kind kind;
  bool operator==(const Returned &other) const {
    return number == other.number && constant == other.constant &&
           kind == other.kind;
  }
};

/// A fragment and what it is known by.
struct Member {
  FragmentOp fragment;
  sdy::MeshAttr mesh;
  SmallVector<Kind> arguments;
  SmallVector<Returned> returned;

  bool isAlike(const Member &other) const;
};

/// While it exists, a fragment returns nothing, and has no constants to return.
class BareBody {
public:
  explicit BareBody(FragmentOp fragment);
  ~BareBody();

private:
  Operation *terminator;
  SmallVector<Value> returned;
  SmallVector<Operation *> constants;
};
} // namespace

//===----------------------------------------------------------------------===//
// Constants that are returned
//===----------------------------------------------------------------------===//

BareBody::BareBody(FragmentOp fragment)
    : terminator(fragment.getBody()->getTerminator()),
      returned(terminator->getOperands()) {
  for (unsigned index = 0; index < returned.size(); ++index)
    if (auto constant = getReturnedScalar(terminator, index))
      constants.push_back(constant);
  terminator->setOperands({});
  for (Operation *constant : constants)
    constant->remove();
}

BareBody::~BareBody() {
  for (Operation *constant : constants)
    terminator->getBlock()->getOperations().insert(terminator->getIterator(),
                                                   constant);
  terminator->setOperands(returned);
}

//===----------------------------------------------------------------------===//
// What is alike
//===----------------------------------------------------------------------===//

/// The values of a body in the order of their definition.
static SmallVector<Value> listValues(Block &body) {
  SmallVector<Value> values(body.getArguments());
  for (Operation &op : body)
    llvm::append_range(values, op.getResults());
  return values;
}

static Member describe(FragmentOp fragment, sdy::MeshAttr mesh) {
  Member member = {fragment, mesh, {}, {}};
  for (auto [index, type] : llvm::enumerate(fragment->getOperandTypes()))
    member.arguments.emplace_back(type, getArgAttrs(fragment, index));
  Block &body = *fragment.getBody();
  DenseMap<Value, unsigned> numbers;
  for (Value value : listValues(body))
    numbers.try_emplace(value, numbers.size());
  Operation *terminator = body.getTerminator();
  for (auto [index, type] : llvm::enumerate(fragment->getResultTypes())) {
    auto constant = getReturnedScalar(terminator, index);
    member.returned.push_back(
        {constant ? 0 : numbers.at(terminator->getOperand(index)),
         constant ? constant.getValue() : Attribute(),
         Kind(type, getResAttrs(fragment, index))});
  }
  return member;
}

/// Whether both return the same arrays, each as often, in whatever order.
static bool returnSameArrays(ArrayRef<Returned> some,
                             ArrayRef<Returned> others) {
  auto isArray = [](const Returned &value) { return !value.kind.isScalar(); };
  auto left = llvm::to_vector(llvm::make_filter_range(others, isArray));
  for (const Returned &value : llvm::make_filter_range(some, isArray)) {
    auto *found = llvm::find(left, value);
    if (found == left.end())
      return false;
    left.erase(found);
  }
  return left.empty();
}

/// Whether each may return the constants of the other, too: results cost time, and there
/// may be one for each microbatch.
static bool haveFewOthers(ArrayRef<Returned> some, ArrayRef<Returned> others) {
  auto count = [](ArrayRef<Returned> values) -> int64_t {
    return llvm::count_if(
        values, [](const Returned &value) { return bool(value.constant); });
  };
  return std::abs(count(some) - count(others)) <= kMostConstants;
}

bool Member::isAlike(const Member &other) const {
  if (mesh != other.mesh || arguments != other.arguments ||
      !returnSameArrays(returned, other.returned) ||
      !haveFewOthers(returned, other.returned))
    return false;
  FragmentOp first = fragment, second = other.fragment;
  BareBody ours(first), theirs(second);
  return areEqualBodies(first.getRegion(), second.getRegion());
}

/// Equal for members that are alike.
static size_t hashMember(const Member &member) {
  llvm::hash_code hash = hash_value(Attribute(member.mesh));
  for (const Kind &kind : member.arguments)
    hash = llvm::hash_combine(hash, kind.type, kind.attrs);
  FragmentOp fragment = member.fragment;
  BareBody bare(fragment);
  return llvm::hash_combine(hash, hashBody(fragment.getRegion()));
}

//===----------------------------------------------------------------------===//
// Returning alike
//===----------------------------------------------------------------------===//

/// What all members are to return: what the one with most results does, in its order, and
/// the scalars that others have beside.
static SmallVector<Returned> joinReturned(ArrayRef<Member> members) {
  const Member *most = &*llvm::max_element(members, [](auto &a, auto &b) {
    return a.returned.size() < b.returned.size();
  });
  SmallVector<Returned> all(most->returned);
  for (const Member &member : members) {
    SmallVector<Returned> left(all);
    for (const Returned &value : member.returned) {
      auto *found = llvm::find(left, value);
      if (found == left.end())
        all.push_back(value);
      else
        left.erase(found);
    }
  }
  return all;
}

/// Has a fragment return `all`, of which it returns some.
static void returnAll(const Member &member, ArrayRef<Returned> all,
                      RewriterBase &rewriter) {
  FragmentOp fragment = member.fragment;
  Operation *terminator = fragment.getBody()->getTerminator();
  SmallVector<Value> values = listValues(*fragment.getBody());
  SmallVector<Value> before(terminator->getOperands());
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Attribute> attrs;
  SmallVector<int> oldOf(member.returned.size(), -1);
  for (auto [index, value] : llvm::enumerate(all)) {
    for (auto [old, known] : llvm::enumerate(member.returned))
      if (oldOf[old] < 0 && known == value) {
        oldOf[old] = index;
        break;
      }
    rewriter.setInsertionPoint(terminator);
    operands.push_back(value.constant ? stablehlo::ConstantOp::create(
                                            rewriter, fragment.getLoc(),
                                            cast<ElementsAttr>(value.constant))
                                            .getResult()
                                      : values[value.number]);
    types.push_back(value.kind.on(fragment.getMeshName()));
    attrs.push_back(value.kind.attrs ? value.kind.attrs
                                     : rewriter.getDictionaryAttr({}));
  }
  terminator->setOperands(operands);
  for (Value value : before)
    if (auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
        constant && constant->use_empty())
      rewriter.eraseOp(constant);
  Operation *rebuilt =
      rebuildOp(fragment, fragment->getOperands(), types, rewriter);
  bool hasAttrs = llvm::any_of(
      all, [](const Returned &value) { return bool(value.kind.attrs); });
  if (hasAttrs || fragment->hasAttr(kResAttrsAttr))
    rebuilt->setAttr(kResAttrsAttr, rewriter.getArrayAttr(attrs));
  for (auto [result, index] : llvm::zip_equal(fragment->getResults(), oldOf))
    rewriter.replaceAllUsesWith(result, rebuilt->getResult(index));
  rewriter.eraseOp(fragment);
}

//===----------------------------------------------------------------------===//
// Which fragments
//===----------------------------------------------------------------------===//

/// Inferred fragments, with their ops, that compute what is computed once: a body that a
/// mesh runs again and again is one program already.
static SmallVector<FragmentOp> findCandidates(func::FuncOp func,
                                              RewriterBase &rewriter) {
  SmallVector<FragmentOp> candidates;
  DenseMap<std::pair<Operation *, Attribute>, unsigned> numCalls;
  auto callsOften = [&](stablehlo::CustomCallOp call, FragmentOp fragment) {
    return numCalls.at({getSharedBody(call), fragment.getMeshNameAttr()}) > 1;
  };
  for (FragmentOp fragment : func.front().getOps<FragmentOp>())
    if (isInferredFragment(fragment))
      for (stablehlo::CustomCallOp call : getSharedBodyCalls(fragment))
        ++numCalls[{getSharedBody(call), fragment.getMeshNameAttr()}];
  for (FragmentOp fragment : func.front().getOps<FragmentOp>()) {
    if (!isInferredFragment(fragment) ||
        fragment->getNumOperands() != fragment.getBody()->getNumArguments() ||
        llvm::any_of(getSharedBodyCalls(fragment),
                     [&](auto call) { return callsOften(call, fragment); }))
      continue;
    inlineSharedBodies(fragment, rewriter);
    separateReturnedScalars(fragment, rewriter);
    candidates.push_back(fragment);
  }
  return candidates;
}

namespace {
/// A fragment, and what it would be without its scalar part.
struct Candidate {
  FragmentOp fragment;
  ScalarPart part;
  FragmentOp core; ///< The fragment itself if it has no scalar part.
};

struct AlignBetweenMeshesPass
    : mpmd::impl::AlignBetweenMeshesPassBase<AlignBetweenMeshesPass> {
  void runOnFunction(func::FuncOp func) override {
    TopologyAttr topology = getTopology(func);
    if (topology.getMeshes().size() < 2)
      return;
    IRRewriter rewriter(func.getContext());
    SmallVector<Candidate> candidates;
    for (FragmentOp fragment : findCandidates(func, rewriter)) {
      ScalarPart part = findScalarPart(fragment);
      FragmentOp core =
          part.ops.empty() ? fragment : makeCore(fragment, part, rewriter);
      candidates.push_back({fragment, std::move(part), core});
    }
    EqualityClasses<unsigned> classes;
    SmallVector<Member> members;
    for (auto [index, candidate] : llvm::enumerate(candidates)) {
      members.push_back(
          describe(candidate.core,
                   getMeshByName(topology, candidate.fragment.getMeshName())));
      classes.add(index, hashMember(members.back()),
                  [&](unsigned first, unsigned other) {
                    return members[first].isAlike(members[other]);
                  });
    }
    for (ArrayRef<unsigned> alike : classes.get())
      align(alike, candidates, members, rewriter);
  }

private:
  void align(ArrayRef<unsigned> alike, ArrayRef<Candidate> candidates,
             MutableArrayRef<Member> members, RewriterBase &rewriter);
};
} // namespace

void AlignBetweenMeshesPass::align(ArrayRef<unsigned> alike,
                                   ArrayRef<Candidate> candidates,
                                   MutableArrayRef<Member> members,
                                   RewriterBase &rewriter) {
  FragmentOp first = candidates[alike.front()].fragment;
  bool isOneProgram = true, isOnOneMesh = true;
  for (unsigned index : alike) {
    FragmentOp fragment = candidates[index].fragment;
    isOneProgram &= areEqualBodies(first.getRegion(), fragment.getRegion());
    isOnOneMesh &= first.getMeshNameAttr() == fragment.getMeshNameAttr();
  }
  bool staysAsItIs = isOneProgram || isOnOneMesh;
  SmallVector<Member> cores;
  for (unsigned index : alike) {
    auto &[fragment, part, core] = candidates[index];
    cores.push_back(members[index]);
    if (staysAsItIs)
      cores.back().fragment = fragment;
    if (core == fragment)
      continue;
    if (staysAsItIs) {
      rewriter.eraseOp(core);
      continue;
    }
    replaceByParts(fragment, part, core, rewriter);
    ++numSplit;
  }
  if (isOnOneMesh)
    return;
  for (const Member &member : cores)
    FragmentOp(member.fragment)
        ->setAttr(kKeepsScalarsAttr, rewriter.getUnitAttr());
  if (isOneProgram)
    return;
  SmallVector<Returned> all = joinReturned(cores);
  for (const Member &member : cores)
    if (member.returned != all) {
      returnAll(member, all, rewriter);
      ++numAligned;
    }
}
