//===- MergeDriver.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Block order is asked for at every step while fragments go. A merged fragment
// has the position of the place where it is put, so positions always order the
// block as it is.
//
// Fragments that merge form groups, which are built when the sweep is over. Of
// a group, one member stays in the block: it is where the merged fragment
// will be, and has its attributes. A group knows its users, in block order.
//
// The sweep goes from the last fragment to the first. Of the groups after the
// current one, each mesh keeps a stack with the nearest on top: the next
// fragment of a mesh is known without a search. So are the effects after it,
// which nothing with effects may move past.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/MergeDriver.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Fragments/Merge/MergeRemarks.h"
#include "meshwright/Fragments/SharedBodies.h"
#include "meshwright/Order/BlockOrder.h"
#include "meshwright/Order/EffectOrder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace mlir;
using namespace mlir::mpmd;

using Position = BlockOrder::Position;

namespace {
/// Ops by position. Those of a group have one position and are one user, so
/// their order among each other does not matter.
using UserSet = std::set<std::pair<Position, Operation *>>;

/// One fragment, or several that will be one.
struct Node {
  /// The member in the block.
  FragmentOp fragment;
  /// The members, once there are several.
  std::optional<FragmentGroup> group;
  /// All users and, of these, fragments of the block, since the node was
  /// visited. Those that have moved to a later position are met at the old one.
  UserSet users, consumers;
  /// Consumers before this position have been refused.
  Position firstOpen = 0;
  Node *mergedInto = nullptr;
  unsigned lastMerge = 0;
};

class MergeDriver {
public:
  MergeDriver(func::FuncOp func, MergePartner partner,
              function_ref<bool(FragmentOp, FragmentOp)> mayMerge);

  FailureOr<unsigned> run();

private:
  Node *findNode(Operation *op);
  Position getPosition(Operation *op);
  Position getPosition(const Node &node);
  void collectUsers(Node &node);
  UserSet::iterator skipStale(UserSet &users, UserSet::iterator it,
                              const Node &node);
  bool accepts(const Node &node, const Node &partner);
  Node *findPartner(Node &node);
  bool isAvailableAt(const Node &node, Node &partner);
  std::optional<bool> findPlace(Node &node, Node &partner);
  void merge(Node &node, Node &partner, bool atPartner);
  LogicalResult mergeWithPartners(Node &node);
  void build();

  func::FuncOp func;
  Block &block;
  MergePartner partnerKind;
  function_ref<bool(FragmentOp, FragmentOp)> mayMerge;
  IRRewriter rewriter;
  BlockOrder order;
  std::deque<Node> nodes;
  DenseMap<Operation *, Node *> nodeOf;
  DenseMap<StringAttr, SmallVector<Node *>> nextOnMesh;
  /// Knows groups by the members in the block.
  EffectOrder effects;
  unsigned numMerges = 0;
};
} // namespace

MergeDriver::MergeDriver(func::FuncOp func, MergePartner partner,
                         function_ref<bool(FragmentOp, FragmentOp)> mayMerge)
    : func(func), block(func.front()), partnerKind(partner), mayMerge(mayMerge),
      rewriter(func.getContext()), effects(func.front()) {
  // Before anything is taken out of the block.
  order.getPosition(block.getTerminator());
  for (FragmentOp fragment : block.getOps<FragmentOp>()) {
    Node &node = nodes.emplace_back();
    node.fragment = fragment;
    nodeOf[fragment] = &node;
  }
}

//===----------------------------------------------------------------------===//
// Users
//===----------------------------------------------------------------------===//

/// The node that a fragment of the block belongs to by now, else null.
Node *MergeDriver::findNode(Operation *op) {
  Node *node = nodeOf.lookup(op);
  if (!node)
    return nullptr;
  while (Node *next = node->mergedInto) {
    if (next->mergedInto) // Path compression: later look-ups are short.
      node->mergedInto = next->mergedInto;
    node = next;
  }
  return node;
}

Position MergeDriver::getPosition(Operation *op) {
  Node *node = findNode(op);
  return node ? getPosition(*node) : order.getPosition(op);
}

Position MergeDriver::getPosition(const Node &node) {
  return order.getPosition(node.fragment);
}

void MergeDriver::collectUsers(Node &node) {
  Operation *lastUser = nullptr;
  for (Operation *user : node.fragment->getUsers()) {
    if (user == lastUser) // Many results often go to one op, the return.
      continue;
    lastUser = user;
    if (Node *consumer = findNode(user)) {
      node.users.emplace(getPosition(*consumer), user);
      node.consumers.emplace(getPosition(*consumer), user);
    } else if (Operation *ancestor = block.findAncestorOpInBlock(*user)) {
      // Else it is in a later block.
      node.users.emplace(order.getPosition(ancestor), ancestor);
    }
  }
}

/// The first user from `it` on that does not belong to `node`. Puts users that
/// were merged where they belong; they never move up.
UserSet::iterator MergeDriver::skipStale(UserSet &users, UserSet::iterator it,
                                         const Node &node) {
  while (it != users.end()) {
    Operation *user = it->second;
    Position position = getPosition(user);
    if (findNode(user) != &node && position == it->first)
      break;
    if (findNode(user) != &node)
      users.emplace(position, user);
    it = users.erase(it);
  }
  return it;
}

//===----------------------------------------------------------------------===//
// Partners
//===----------------------------------------------------------------------===//

bool MergeDriver::accepts(const Node &node, const Node &partner) {
  FragmentOp fragment = node.fragment, other = partner.fragment;
  return fragment.getMeshNameAttr() == other.getMeshNameAttr() &&
         mayMerge(fragment, other);
}

Node *MergeDriver::findPartner(Node &node) {
  if (partnerKind == MergePartner::NextOnMesh) {
    ArrayRef<Node *> next = nextOnMesh[node.fragment.getMeshNameAttr()];
    return !next.empty() && accepts(node, *next.back()) ? next.back() : nullptr;
  }
  UserSet &consumers = node.consumers;
  auto it = consumers.lower_bound({node.firstOpen, nullptr});
  while ((it = skipStale(consumers, it, node)) != consumers.end()) {
    Node *consumer = findNode(it->second);
    if (accepts(node, *consumer))
      return consumer;
    if (partnerKind == MergePartner::ClosestConsumer)
      return nullptr;
    node.firstOpen = getPosition(*consumer) + 1;
    it = consumers.lower_bound({node.firstOpen, nullptr});
  }
  return nullptr;
}

/// Whether `partner` could be directly after `node`.
bool MergeDriver::isAvailableAt(const Node &node, Node &partner) {
  Position place = getPosition(node);
  auto isAvailable = [&](Value operand) {
    Operation *def = operand.getDefiningOp();
    return !def || getPosition(def) <= place;
  };
  if (partner.group)
    return partner.group->allOperands(isAvailable);
  return llvm::all_of(partner.fragment->getOperands(), isAvailable);
}

/// Whether to merge where the partner is, else where the node does. None if
/// neither is possible.
std::optional<bool> MergeDriver::findPlace(Node &node, Node &partner) {
  auto isBefore = [&](Operation *a, Operation *b) {
    return getPosition(a) < getPosition(b);
  };
  auto firstUse = skipStale(node.users, node.users.begin(), node);
  if ((firstUse == node.users.end() ||
       firstUse->first >= getPosition(partner)) &&
      effects.mayMoveDown(node.fragment, partner.fragment, isBefore))
    return true;
  if (isAvailableAt(node, partner) &&
      effects.mayMoveUp(partner.fragment, node.fragment, isBefore))
    return false;
  return std::nullopt;
}

static void takeInSmaller(UserSet &users, UserSet &other) {
  if (users.size() < other.size())
    std::swap(users, other);
  users.insert(other.begin(), other.end());
  other.clear();
}

void MergeDriver::merge(Node &node, Node &partner, bool atPartner) {
  for (Node *each : {&node, &partner})
    if (!each->group)
      each->group.emplace(each->fragment);
  // Callbacks and the next merge look at the member that represents the group.
  auto before = MergedAttributes::of(node.fragment);
  auto attributes = MergedAttributes::ofBoth(node.fragment, partner.fragment);
  FragmentOp stays = atPartner ? partner.fragment : node.fragment;
  FragmentOp goes = atPartner ? node.fragment : partner.fragment;
  stays->setLoc(node.fragment.getLoc());
  attributes.setOn(stays);
  effects.replace({node.fragment, partner.fragment}, stays);
  goes->remove();
  if (!(attributes == before))
    node.firstOpen = 0;

  node.group->append(*partner.group);
  partner.group.reset();
  takeInSmaller(node.users, partner.users);
  takeInSmaller(node.consumers, partner.consumers);
  node.fragment = stays;
  node.lastMerge = ++numMerges;
  partner.mergedInto = &node;
}

/// Merges `node` until it finds no partner.
LogicalResult MergeDriver::mergeWithPartners(Node &node) {
  collectUsers(node);
  while (Node *partner = findPartner(node)) {
    std::optional<bool> atPartner = findPlace(node, *partner);
    if (!atPartner) {
      remarkNotMerged("merge", node.fragment,
                      "something between it and the fragment it could join "
                      "reads the one or feeds the other");
      return success();
    }
    if (failed(verifySameStage(node.fragment, partner->fragment)))
      return failure();
    remarkMerged("merge", node.fragment, partner->fragment);
    if (partnerKind == MergePartner::NextOnMesh)
      nextOnMesh[node.fragment.getMeshNameAttr()].pop_back();
    merge(node, *partner, *atPartner);
  }
  if (isInferredFragment(node.fragment))
    remarkNotMerged("merge", node.fragment,
                    partnerKind == MergePartner::NextOnMesh
                        ? "no fragment after it on its mesh may be merged"
                        : "no fragment of its mesh that reads it may be "
                          "merged");
  return success();
}

/// Builds the merged fragments, in the order of their last merges.
void MergeDriver::build() {
  SmallVector<Node *> merged;
  for (Node &node : nodes)
    if (node.group && !node.mergedInto)
      merged.push_back(&node);
  llvm::sort(merged, [](const Node *a, const Node *b) {
    return a->lastMerge < b->lastMerge;
  });
  FragmentMerger merger;
  for (Node *node : merged)
    merger.build(*node->group, node->fragment,
                 MergedAttributes::of(node->fragment), rewriter);
  merger.setLocations(func);
}

FailureOr<unsigned> MergeDriver::run() {
  LogicalResult result = success();
  for (Node &node : llvm::reverse(nodes)) {
    if (node.fragment->use_empty() && isPureFragment(node.fragment)) {
      nodeOf.erase(node.fragment);
      rewriter.eraseOp(node.fragment);
      node.fragment = nullptr;
      continue;
    }
    result = mergeWithPartners(node);
    if (failed(result))
      break;
    if (partnerKind == MergePartner::NextOnMesh)
      nextOnMesh[node.fragment.getMeshNameAttr()].push_back(&node);
  }
  build();
  if (failed(result))
    return failure();
  return numMerges;
}

FailureOr<unsigned>
mpmd::mergeFragmentsIn(func::FuncOp func, MergePartner partner,
                       function_ref<bool(FragmentOp, FragmentOp)> mayMerge) {
  if (func.isDeclaration())
    return 0;
  return MergeDriver(func, partner, mayMerge).run();
}
