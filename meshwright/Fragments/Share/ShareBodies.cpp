//===- ShareBodies.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pipelined program has thousands of fragments and a handful of bodies.
//
//   fragment (%x) (%a) {%s = sine %a; return %a, %s}
//   fragment (%y) (%a) {%s = sine %a; return %a, %s}
//   // become
//   fragment (%x) (%a) {%s = custom_call @mpmd.shared_body(%a); return %a, %s}
//   fragment (%y) (%a) {%s = custom_call @mpmd.shared_body(%a); return %a, %s}
//   func private @shared_body(%a) {%s = sine %a; return %s}
//
// What is known of a body without its ops is in the fragments, so that
// passes see it there: which arguments it reads, and which it returns.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Fragments/FragmentWalk.h"
#include "meshwright/Fragments/Share/ShareableBodies.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/IR/EqualBodies.h"
#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#define GEN_PASS_DEF_SHAREBODIESPASS
#include "meshwright/Fragments/Share/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using stablehlo::CustomCallOp;

//===----------------------------------------------------------------------===//
// From fragments to functions
//===----------------------------------------------------------------------===//

/// Moves the ops of a body into a function with the same arguments and results.
static func::FuncOp moveIntoFunction(FragmentOp fragment,
                                     SymbolTable &symbols) {
  Operation *terminator = fragment.getBody()->getTerminator();
  OpBuilder builder(terminator);
  auto body = func::FuncOp::create(
      fragment.getLoc(), "shared_body",
      builder.getFunctionType(fragment.getBody()->getArgumentTypes(),
                              terminator->getOperandTypes()));
  body.setPrivate();
  body->setAttr(sdy::kSharedBody, builder.getUnitAttr());
  body.getBody().takeBody(fragment.getRegion());
  func::ReturnOp::create(builder, terminator->getLoc(),
                         terminator->getOperands());
  terminator->erase();
  symbols.insert(body);
  return body;
}

/// What a fragment keeps of a body that goes.
namespace {
struct Frame {
  explicit Frame(FragmentOp fragment)
      : fragment(fragment),
        returnLoc(fragment.getBody()->getTerminator()->getLoc()) {
    for (BlockArgument argument : fragment.getBody()->getArguments()) {
      types.push_back(argument.getType());
      locs.push_back(argument.getLoc());
    }
  }

  FragmentOp fragment;
  Location returnLoc;
  SmallVector<Type> types;
  SmallVector<Location> locs;
};
} // namespace

static CustomCallOp callFrom(const Frame &frame, func::FuncOp body,
                             bool hasSideEffect) {
  Region &region = FragmentOp(frame.fragment).getRegion();
  region.dropAllReferences();
  region.getBlocks().clear();
  Block &block = region.emplaceBlock();
  block.addArguments(frame.types, frame.locs);
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  CustomCallOp call =
      createSharedBodyCall(builder, FragmentOp(frame.fragment).getLoc(), body,
                           block.getArguments(), hasSideEffect);
  mpmd::ReturnOp::create(builder, frame.returnLoc, call.getResults());
  return call;
}

static std::pair<func::FuncOp, SmallVector<CustomCallOp>>
share(ArrayRef<FragmentOp> fragments, SymbolTable &symbols) {
  auto frames = llvm::map_to_vector(
      fragments, [](FragmentOp fragment) { return Frame(fragment); });
  func::FuncOp body = moveIntoFunction(fragments.front(), symbols);
  bool hasSideEffect =
      !llvm::all_of(body.front().without_terminator(),
                    [](Operation &op) { return isMemoryEffectFree(&op); });
  SmallVector<CustomCallOp> calls;
  for (const Frame &frame : frames)
    calls.push_back(callFrom(frame, body, hasSideEffect));
  return {body, std::move(calls)};
}

//===----------------------------------------------------------------------===//
// What a function need not take and return
//===----------------------------------------------------------------------===//

/// Takes out what is known without the ops of a body. Returns whether there
/// was any.
static bool narrow(func::FuncOp body, ArrayRef<CustomCallOp> calls) {
  Block &block = body.front();
  Operation *terminator = block.getTerminator();
  // Propagation may have left shardings there.
  body.removeArgAttrsAttr();
  body.removeResAttrsAttr();
  SmallVector<Value> returned(terminator->getOperands());
  llvm::DenseMap<Value, unsigned> position;
  BitVector isTold(returned.size());
  for (auto [index, value] : llvm::enumerate(returned))
    if (isa<BlockArgument>(value) ||
        !position.try_emplace(value, position.size()).second)
      isTold.set(index);
  terminator->eraseOperands(isTold);
  BitVector isUnread(block.getNumArguments());
  for (BlockArgument argument : block.getArguments())
    if (argument.use_empty())
      isUnread.set(argument.getArgNumber());
  if (isTold.none() && isUnread.none())
    return false;

  SmallVector<unsigned> argumentOf(returned.size());
  for (auto [index, value] : llvm::enumerate(returned))
    if (auto argument = dyn_cast<BlockArgument>(value))
      argumentOf[index] = argument.getArgNumber();
  auto isArgument = llvm::map_to_vector(
      returned, [](Value value) { return isa<BlockArgument>(value); });
  block.eraseArguments(isUnread);
  body.setFunctionType(FunctionType::get(body.getContext(),
                                         block.getArgumentTypes(),
                                         terminator->getOperandTypes()));
  for (CustomCallOp call : calls) {
    SmallVector<Value> operands;
    for (auto [index, operand] : llvm::enumerate(call.getOperands()))
      if (!isUnread[index])
        operands.push_back(operand);
    OpBuilder builder(call);
    CustomCallOp narrowed = createSharedBodyCall(
        builder, call.getLoc(), body, operands, call.getHasSideEffect());
    for (auto [index, result] : llvm::enumerate(call.getResults()))
      result.replaceAllUsesWith(
          isArgument[index]
              ? call.getOperand(argumentOf[index])
              : narrowed.getResult(position.lookup(returned[index])));
    call.erase();
  }
  return true;
}

namespace {
/// The fragments of a module by what they have of shared bodies.
struct FoundFragments {
  CallsOfBodies bodies;
  /// Those that may share, in the order of the program: without a call, and with
  /// other ops beside it. Of what has nothing but its call nothing is asked.
  SmallVector<FragmentOp> own, mixed;
};
} // namespace

namespace {
struct ShareBodiesPass : mpmd::impl::ShareBodiesPassBase<ShareBodiesPass> {
  using Base::Base;
  using Classes = EqualityClasses<FragmentOp>;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    isMainThere = module.lookupSymbol("main");
    SymbolTable symbols(module);
    FoundFragments found = findFragments();
    if (narrowKnown(found.bodies))
      found = findFragments();
    if (inCallees) {
      for (FragmentOp fragment : getFragmentsOfCallees())
        makeOne(fragment, symbols);
      return;
    }
    if (!found.mixed.empty()) {
      unite(found.mixed, symbols);
      found = findFragments();
    }
    found.own = keepSharing(found.own);
    bool isBodyUncalled = hasUncalled(found.bodies);
    Classes classes = classify(found.own);
    for (ArrayRef<FragmentOp> equal : classes.get())
      if (equal.size() > 1)
        makeOne(equal, symbols);
    if (isBodyUncalled)
      numErased += eraseUncalledBodies(module);
  }

private:
  bool mayShare(FragmentOp fragment) {
    return isShareable(fragment, minOps) &&
           (!forPropagation || isForPropagation(fragment));
  }

  /// Those that may share: each is looked at as a whole, on all cores.
  SmallVector<FragmentOp> keepSharing(ArrayRef<FragmentOp> fragments) {
    SmallVector<char> isKept(fragments.size());
    parallelFor(&getContext(), 0, fragments.size(),
                [&](size_t i) { isKept[i] = mayShare(fragments[i]); });
    SmallVector<FragmentOp> kept;
    for (auto [fragment, keep] : llvm::zip_equal(fragments, isKept))
      if (keep)
        kept.push_back(fragment);
    return kept;
  }

  bool mayShareIn(func::FuncOp func) {
    return !forPropagation || (isMainThere && hasOneMesh(func));
  }

  void makeOne(ArrayRef<FragmentOp> equal, SymbolTable &symbols) {
    auto [body, calls] = share(equal, symbols);
    narrow(body, calls);
    ++numBodies;
    numFragments += calls.size();
  }

  FoundFragments findFragments() {
    FoundFragments found;
    llvm::SmallDenseMap<Operation *, bool> sharing;
    for (auto func : getOperation().getOps<func::FuncOp>())
      sharing[func] = mayShareIn(func);
    found.bodies = collectSharedBodies(
        getOperation(), [&](func::FuncOp func, FragmentOp fragment,
                            ArrayRef<CustomCallOp> calls) {
          if (!sharing.lookup(func))
            return;
          if (calls.empty())
            found.own.push_back(fragment);
          else if (!llvm::hasSingleElement(
                       fragment.getBody()->without_terminator()))
            found.mixed.push_back(fragment);
        });
    return found;
  }

  /// Whether a body has lost its last call.
  bool hasUncalled(const CallsOfBodies &called) {
    return llvm::any_of(
        getOperation().getOps<func::FuncOp>(), [&](func::FuncOp func) {
          return sdy::isSharedBody(func) && !called.contains(func);
        });
  }

  static Classes classify(ArrayRef<FragmentOp> fragments) {
    Classes classes;
    SmallVector<llvm::hash_code> hashes = hashBodies(llvm::map_to_vector(
        fragments, [](FragmentOp fragment) { return &fragment.getRegion(); }));
    for (auto [fragment, hash] : llvm::zip_equal(fragments, hashes))
      classes.add(fragment, hash, [](FragmentOp first, FragmentOp other) {
        return areEqualBodies(first.getRegion(), other.getRegion());
      });
    return classes;
  }

  /// Where a function is inlined several times, its fragments have as many
  /// copies.
  SmallVector<FragmentOp> getFragmentsOfCallees() {
    llvm::DenseMap<Attribute, unsigned> numCalls;
    auto funcs = getOperation().getOps<func::FuncOp>();
    for (func::FuncOp func : funcs)
      walkOutsideFragments<CallOp>(func, [&](CallOp call) {
        ++numCalls[call.getCalleeAttr().getAttr()];
      });
    SmallVector<FragmentOp> fragments;
    for (func::FuncOp func : funcs)
      if (numCalls.lookup(func.getSymNameAttr()) > 1 && mayShareIn(func))
        walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
          if (mayShare(fragment))
            fragments.push_back(fragment);
        });
    return fragments;
  }

  /// Makes one body of calls and other ops, which merging has put together. It
  /// is inlined where it would be the only one.
  void unite(ArrayRef<FragmentOp> mixed, SymbolTable &symbols) {
    IRRewriter rewriter(&getContext());
    Classes classes = classify(mixed);
    inlineSharedBodiesOfEach(
        llvm::map_to_vector(classes.get(), [](ArrayRef<FragmentOp> equal) {
          return equal.front();
        }));
    for (ArrayRef<FragmentOp> equal : classes.get()) {
      FragmentOp first = equal.front();
      if (equal.size() > 1 && mayShare(first)) {
        makeOne(equal, symbols);
        continue;
      }
      for (FragmentOp other : equal.drop_front())
        inlineSharedBodies(other, rewriter);
      numInlined += equal.size();
    }
  }

  /// Fragments that return an argument now forward it, as canonicalization does
  /// where the ops are in the fragment. Returns whether there were any.
  bool narrowKnown(CallsOfBodies &bodies) {
    SetVector<FragmentOp> changed;
    for (auto &[body, calls] : bodies) {
      auto fragments = llvm::map_to_vector(calls, [](CustomCallOp call) {
        return cast<FragmentOp>(call->getParentOp());
      });
      if (!narrow(body, calls))
        continue;
      ++numNarrowed;
      changed.insert_range(fragments);
    }
    // Not before: a fragment may have calls of several bodies.
    IRRewriter rewriter(&getContext());
    PatternRewriter patterns(&getContext());
    for (FragmentOp fragment : changed) {
      auto returnsNothing = [](CustomCallOp call) {
        return call.getNumResults() == 0;
      };
      if (llvm::any_of(getSharedBodyCalls(fragment), returnsNothing))
        inlineSharedBodies(fragment, rewriter);
      (void)FragmentOp::canonicalize(fragment, patterns);
    }
    return !changed.empty();
  }

  bool isMainThere = false;
};
} // namespace
