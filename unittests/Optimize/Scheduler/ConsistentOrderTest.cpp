//===- ConsistentOrderTest.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/Order/ConsistentOrder.h"
#include "meshwright/Optimize/Scheduler/Order/OpenPairs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::Constraints;
using meshwright::Place;
using meshwright::WorkItem;
using meshwright::WorkKind;

using Matrix = std::vector<std::vector<bool>>;
using Pairs = std::vector<std::pair<unsigned, unsigned>>;

static constexpr WorkKind kKinds[] = {WorkKind::Forward, WorkKind::Backward,
                                      WorkKind::Weight};

namespace {
/// A program of ops, of which some are units of a few meshes, under constraints
/// that may contradict the data flow and each other.
class RandomProgram {
public:
  RandomProgram(MLIRContext *context, std::mt19937 &random);
  ~RandomProgram() { block.dropAllReferences(); }

  Block block;
  Matrix reads; ///< From producer to reader.
  std::vector<OrderedMesh> meshes;

private:
  unsigned pick(unsigned end) { return random() % end; }
  Constraints makeConstraints();

  std::mt19937 &random;
};

/// Asks pair by pair, as the definition has it.
struct PairByPair {
  PairByPair(const RandomProgram &program, const UnitConstraints &units);

  Matrix edges; ///< Between ops, those of the data flow as well.
  Pairs pairs;
  uint64_t numConflicts = 0;
};
} // namespace

Constraints RandomProgram::makeConstraints() {
  Constraints constraints;
  if (pick(4) > 0)
    constraints.findPlace = [sequences = 1 + pick(2), turn = int(pick(3)) - 1,
                             modulus = 1 + pick(5), skipped = pick(4)](
                                const WorkItem &item) -> std::optional<Place> {
      if (item.microbatch % 4 == skipped - 1)
        return std::nullopt;
      int64_t kind = static_cast<int>(item.kind);
      return Place{kind % sequences,
                   {turn * kind, turn * item.microbatch / modulus,
                    item.microbatch % modulus}};
    };
  for (WorkKind first : kKinds)
    for (WorkKind second : kKinds) {
      if (first != second && pick(3) == 0)
        constraints.offsets.push_back({first, second, int(pick(5)) - 2});
      if (first != second && pick(8) == 0)
        constraints.warmUps.push_back({first, second, pick(4)});
    }
  return constraints;
}

RandomProgram::RandomProgram(MLIRContext *context, std::mt19937 &random)
    : random(random) {
  unsigned size = 2 + pick(24), sparseness = 2 + pick(10);
  meshes.resize(1 + pick(3));
  for (OrderedMesh &mesh : meshes)
    mesh.constraints = makeConstraints();
  reads.assign(size, std::vector<bool>(size));
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block);
  SmallVector<Operation *> ops;
  for (unsigned i = 0; i < size; ++i) {
    // Without effects, which would have an order of their own.
    OperationState state(builder.getUnknownLoc(),
                         UnrealizedConversionCastOp::getOperationName());
    state.addTypes(builder.getI32Type());
    for (unsigned j = 0; j < i; ++j)
      if (pick(sparseness) == 0) {
        reads[j][i] = true;
        state.addOperands(ops[j]->getResult(0));
      }
    ops.push_back(builder.create(state));
    if (pick(5) == 0)
      continue;
    MeshUnits &units = meshes[pick(meshes.size())].units;
    units.positions.push_back(i);
    units.items.push_back({kKinds[pick(3)], pick(6), pick(2)});
  }
  builder.create(OperationState(builder.getUnknownLoc(), "test.end"));
}

/// Only what is before `to` is passed.
static bool hasPath(const Matrix &edges, unsigned from, unsigned to) {
  if (from >= to)
    return false;
  std::vector<bool> seen(edges.size());
  SmallVector<unsigned> stack = {from};
  while (!stack.empty()) {
    unsigned node = stack.pop_back_val();
    for (unsigned next = 0; next <= to; ++next)
      if (edges[node][next] && !seen[next]) {
        seen[next] = true;
        stack.push_back(next);
      }
  }
  return seen[to];
}

static Matrix closeTransitively(Matrix edges) {
  for (size_t k = 0; k < edges.size(); ++k)
    for (size_t i = 0; i < edges.size(); ++i)
      for (size_t j = 0; j < edges.size(); ++j)
        if (edges[i][k] && edges[k][j])
          edges[i][j] = true;
  return edges;
}

PairByPair::PairByPair(const RandomProgram &program,
                       const UnitConstraints &units)
    : edges(program.reads) {
  for (unsigned first = 0; first < units.getUnits().size(); ++first) {
    const OrderedUnit &a = units.getUnits()[first];
    const OrderedMesh &mesh = program.meshes[a.mesh];
    for (unsigned second : units.getUnitsOf(a.mesh)) {
      const OrderedUnit &b = units.getUnits()[second];
      if (first == second ||
          !mesh.constraints.mustPrecede(mesh.units.items[a.index],
                                        mesh.units.items[b.index]))
        continue;
      bool isContradicted = hasPath(edges, b.position, a.position);
      numConflicts += isContradicted;
      if (isContradicted || hasPath(edges, a.position, b.position))
        continue;
      edges[a.position][b.position] = true;
      pairs.emplace_back(first, second);
    }
  }
}

TEST(ConsistentOrderTest, EqualsPairByPair) {
  MLIRContext context;
  context.allowUnregisteredDialects();
  std::mt19937 random(11);
  unsigned numContradictory = 0;
  for (unsigned trial = 0; trial < 4000; ++trial) {
    SCOPED_TRACE(trial);
    RandomProgram program(&context, random);
    BlockGraph graph(program.block);
    UnitConstraints units(graph, program.meshes);
    PairByPair expected(program, units);
    ConsistentOrder order = findConsistentOrder(
        graph, units, getConstraints(graph.size(), program.meshes));

    Matrix edges = program.reads;
    for (auto [before, after] : order.edges)
      edges[before][after] = true;
    ASSERT_EQ(closeTransitively(edges), closeTransitively(expected.edges));
    ASSERT_EQ(order.numConflicts, expected.numConflicts);
    Matrix met = closeTransitively(edges);
    unsigned numVisited = 0;
    forEachConflict(units, order, [&](unsigned first, unsigned second) {
      ++numVisited;
      EXPECT_TRUE(met[units.getUnits()[second].position]
                     [units.getUnits()[first].position]);
    });
    ASSERT_EQ(numVisited, expected.numConflicts);
    numContradictory += expected.numConflicts > 0;

    Pairs pairs;
    OpenPairs open(graph, units, order);
    for (unsigned mesh = 0; mesh < program.meshes.size(); ++mesh)
      open.visitRequired(mesh, [&](unsigned first, unsigned second) {
        pairs.emplace_back(first, second);
      });
    llvm::sort(pairs);
    ASSERT_EQ(pairs, expected.pairs);
  }
  EXPECT_GT(numContradictory, 1000u);
}

// The sort of the met constraints is that of all of them.
TEST(ConsistentOrderTest, MetConstraintsFormNoCycle) {
  MLIRContext context;
  context.allowUnregisteredDialects();
  std::mt19937 random(12);
  for (unsigned trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE(trial);
    RandomProgram program(&context, random);
    BlockGraph graph(program.block);
    UnitConstraints units(graph, program.meshes);
    OrderConstraints met(graph);
    for (auto [before, after] :
         findConsistentOrder(graph, units,
                             getConstraints(graph.size(), program.meshes))
             .edges)
      met.add(before, after);
    EXPECT_TRUE(sortBlockTopologically(graph, met));
  }
}
