# SPDX-License-Identifier: Apache-2.0
"""The stages of weights that several bodies read, from their lines alone."""

import types

import jax
from meshwright.staging import shared_weights
from meshwright.staging.shared_weights import Lined, find_homes

POSITIONS = 8


class Weight:
    aval = jax.ShapeDtypeStruct((32, 32), "float32")


def make_body(weights, cost, narrow):
    """A body that reads each weight once, with nothing sent by one of all cuts."""
    variables = [object() for _ in weights]
    order = types.SimpleNamespace(
        items=weights,
        costs=[cost] * POSITIONS,
        spans=[(i, i + 1, 10 * (i != narrow)) for i in range(POSITIONS - 1)],
        inputs={var: (i, i, 4096) for i, var in enumerate(variables)},
    )
    return Lined(order, dict(zip(variables, weights, strict=True)), 1)


def test_bodies_that_only_move_data_have_their_weights_in_one_place():
    weights = [Weight() for _ in range(POSITIONS)]
    bodies = [make_body(weights, 0.0, narrow) for narrow in (4, 2)]
    assert find_homes(bodies, 2).keys() == set(weights)


def test_more_bodies_are_not_cut_more_often(monkeypatch):
    tried = []
    cut = shared_weights.cuts_of_several
    monkeypatch.setattr(
        shared_weights,
        "cuts_of_several",
        lambda *args: tried.append(args) or cut(*args),
    )
    weights = [Weight() for _ in range(POSITIONS)]
    find_homes([make_body(weights, 1.0, i % 5) for i in range(16)], 2)
    assert len(tried) <= 25


def test_a_small_weight_does_not_make_stages_uneven():
    weight = (1, 3, 1024)
    order = types.SimpleNamespace(
        costs=[1] * 5, spans=[(i, i + 1, 2**20) for i in range(4)], inputs={"w": weight}
    )
    assert shared_weights.cuts_around(order, [weight], [2], 2) is None
    # One whose transfer counts is cut around.
    weight = (1, 3, 2**20)
    order.inputs["w"] = weight
    assert shared_weights.cuts_around(order, [weight], [2], 2) == [1]
