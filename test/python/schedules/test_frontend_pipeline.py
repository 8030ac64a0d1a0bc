"""Rules on fragments, builders, the registry and the builtin relations."""

import itertools
import random

import numpy as np
import pytest
from meshwright.pipeline import (
    FragmentInfo,
    FragmentMergeRule,
    FragmentOrigin,
    FragmentScheduleRule,
    PipelineContext,
    PipelineSchedule,
    SplitFragmentType,
)
from meshwright.pipeline_registry import (
    get_pipeline_schedule,
    pipeline_schedule_names,
)
from meshwright.schedules.rules import build_merge_rules

from meshwright import pipeline, schedule_impl

DROP = SplitFragmentType.DROP_TRANSFERRED
KEEP = SplitFragmentType.KEEP_TRANSFERRED


def info(name="f", count=0, counter=0, stage=0, split=None, mesh="m0"):
    return FragmentInfo(
        origins=(FragmentOrigin(name, count),),
        stage_id=stage,
        call_counter=counter,
        split_type=split,
        mesh_name=mesh,
    )


def forward(counter, stage=0, mesh="m0"):
    return info(counter=counter, stage=stage, mesh=mesh)


def backward(counter, stage=0, split=None, mesh="m0"):
    return info(count=1, counter=counter, stage=stage, split=split, mesh=mesh)


A, B = info("a"), info("b")


def test_fragment_info_defaults():
    plain = FragmentInfo(origins=(FragmentOrigin("f"),))
    assert plain.origins[0].transpose_count == 0
    assert (plain.stage_id, plain.call_counter, plain.split_type) == (None, None, None)
    assert plain.mesh_name == ""


def test_fragment_infos_are_values():
    assert info("a") == A and hash(info("a")) == hash(A)
    assert len({A, info("a"), B}) == 2
    for change in ({"count": 1}, {"counter": 1}, {"stage": 1}, {"split": DROP}):
        assert info("a", **change) != A
    as_list = FragmentInfo([FragmentOrigin("a")], 0, 0, None, "m0")
    assert as_list == A and hash(as_list) == hash(A)


def test_merge_rule_takes_a_set():
    rule = FragmentMergeRule(sources={A, B}, target=info("ab"))
    assert rule.sources == {A, B}
    assert rule == FragmentMergeRule(sources=[B, A], target=info("ab"))


NO_ORIGIN = FragmentInfo(origins=(), mesh_name="m0")


@pytest.mark.parametrize(
    ("sources", "target", "message"),
    [
        ({A}, A, "at least two fragments, got 1"),
        ({A, info("b", mesh="m1")}, A, "same mesh, got m0, m1"),
        ({A, NO_ORIGIN}, A, "at least one origin"),
        ({A, B}, NO_ORIGIN, "target needs at least one origin"),
    ],
)
def test_bad_merge_rules_are_rejected(sources, target, message):
    with pytest.raises(ValueError, match=message):
        FragmentMergeRule(sources=sources, target=target)


@pytest.mark.parametrize(
    ("fragments", "message"),
    [
        ([A], "at least two fragments, got 1"),
        ([A, info("b", mesh="m1")], "same mesh"),
        ([A, NO_ORIGIN], "at least one origin"),
    ],
)
def test_bad_schedule_rules_are_rejected(fragments, message):
    with pytest.raises(ValueError, match=message):
        FragmentScheduleRule(ordered_fragments=fragments)


def test_rules_print_in_the_compilers_syntax():
    late = FragmentInfo(
        origins=(FragmentOrigin("enc"), FragmentOrigin("head", 1)),
        stage_id=2,
        call_counter=5,
        split_type=DROP,
        mesh_name="tpu0",
    )
    early = FragmentInfo(origins=(FragmentOrigin("enc"),), mesh_name="tpu0")
    late_text = (
        'FragmentInfo(origins=["enc","head"(1)],stage=2,call_counter=5,'
        'split_type=kDropTransferred,mesh_name="tpu0")'
    )
    early_text = 'FragmentInfo(origins=["enc"],mesh_name="tpu0")'
    assert pipeline.rule_text(FragmentScheduleRule([early, late])) == (
        f"FragmentScheduleRule(ordered_fragments=[{early_text}->{late_text}])"
    )
    assert pipeline.rule_text(FragmentMergeRule({early, late}, early)) == (
        f"FragmentMergeRule(sources=[{late_text},{early_text}],target={early_text})"
    )


CONTEXT = PipelineContext(num_meshes=2)


def test_schedule_rules_from_predicate_compare_pairs_of_one_mesh():
    infos = [forward(0), forward(1), forward(2, mesh="m1")]
    seen = []

    def before(first, second, context):
        assert context is CONTEXT
        seen.append((first, second))
        return first.call_counter < second.call_counter

    rules = pipeline.build_schedule_rules_from_predicate(
        infos, CONTEXT, before_pred=before
    )
    assert rules == [FragmentScheduleRule([infos[0], infos[1]])]
    assert seen == [(infos[0], infos[1]), (infos[1], infos[0])]


def test_equal_descriptions_at_different_positions_are_compared():
    infos = [forward(0), forward(0)]
    rules = pipeline.build_schedule_rules_from_predicate(
        infos, CONTEXT, before_pred=lambda a, b, _: True
    )
    assert len(rules) == 2


def test_schedule_rules_from_key_list_each_mesh_once():
    rng = random.Random(0)
    infos = [
        make(i, mesh=mesh)
        for i in range(50)
        for make in (forward, backward)
        for mesh in ("m0", "m1")
    ]
    rng.shuffle(infos)
    seen = []

    def key(info, context):
        assert context is CONTEXT
        seen.append(info)
        return info.origins[0].transpose_count, -info.call_counter

    rules = pipeline.build_schedule_rules_from_key(infos, CONTEXT, key=key)
    assert len(seen) == len(infos) == sum(len(r.ordered_fragments) for r in rules)
    down = range(49, -1, -1)
    expected = {
        mesh: [make(i, mesh=mesh) for make in (forward, backward) for i in down]
        for mesh in ("m0", "m1")
    }
    found = {rule.ordered_fragments[0].mesh_name: rule for rule in rules}
    assert {m: r.ordered_fragments for m, r in found.items()} == expected


def test_schedule_rules_from_key_say_what_the_relation_says():
    infos = [make(i) for i in range(4) for make in (backward, forward)]
    of_pairs = pipeline.build_schedule_rules_from_predicate(
        infos, CONTEXT, before_pred=schedule_impl.gpipe
    )
    (rule,) = pipeline.build_schedule_rules_from_key(
        infos,
        CONTEXT,
        key=lambda info, _: (schedule_impl.transpose_count(info), info.call_counter),
    )
    pairs = itertools.combinations(rule.ordered_fragments, 2)
    assert {tuple(pair.ordered_fragments) for pair in of_pairs} == set(pairs)


def test_fragments_without_a_key_or_a_name_are_not_ordered():
    def key(info, _):
        assert info.origins
        return info.call_counter

    infos = [NO_ORIGIN, forward(1), info("norm", counter=None), forward(0)]
    rules = pipeline.build_schedule_rules_from_key(infos, CONTEXT, key=key)
    assert rules == [FragmentScheduleRule([forward(0), forward(1)])]
    rules = pipeline.build_schedule_rules_from_key(infos[:3], CONTEXT, key=key)
    assert rules == []


def test_equal_keys_keep_the_order_of_the_program():
    infos = [forward(2), backward(0), forward(0), forward(1)]
    (rule,) = pipeline.build_schedule_rules_from_key(
        infos, CONTEXT, key=lambda info, _: -info.origins[0].transpose_count
    )
    expected = [backward(0), forward(2), forward(0), forward(1)]
    assert rule.ordered_fragments == expected


def test_merge_rules_from_predicate_have_the_union_of_origins():
    first = FragmentInfo((FragmentOrigin("a"), FragmentOrigin("b")), 1, 2, KEEP, "m0")
    second = FragmentInfo(
        (FragmentOrigin("b"), FragmentOrigin("c", 1)), 1, 2, None, "m0"
    )
    rules = pipeline.build_merge_rules_from_predicate(
        [first, second, info("d", mesh="m1")], CONTEXT, pred=lambda a, b, _: True
    )
    target = FragmentInfo(
        (FragmentOrigin("a"), FragmentOrigin("b"), FragmentOrigin("c", 1)),
        mesh_name="m0",
    )
    assert rules == [FragmentMergeRule({first, second}, target)]


def test_merge_rules_use_the_given_target():
    rules = pipeline.build_merge_rules_from_predicate(
        [A, B], CONTEXT, lambda sources: sources[1], pred=lambda a, b, _: True
    )
    assert [rule.target for rule in rules] == [B]


def test_builders_run_in_order_once_per_mesh():
    infos = [info("a", mesh="m1"), info("b", mesh="m0"), info("c", mesh="m1")]
    seen = []

    def builder(tag):
        def build(fragments, context):
            seen.append((tag, [f.mesh_name for f in fragments], context.num_meshes))
            return [], []

        return build

    context = pipeline.pipeline_context(["m0", "m1", "host/cpu"])
    schedule = PipelineSchedule((builder(1), builder(2)))
    assert pipeline.build_rules(schedule, infos, context) == ([], [])
    assert seen == [
        (1, ["m1", "m1"], 2),
        (1, ["m0"], 2),
        (2, ["m1", "m1"], 2),
        (2, ["m0"], 2),
    ]


@pytest.mark.parametrize(
    ("name", "builtin", "split"),
    [
        ("GPIPE", "GPipe", False),
        ("ONE_FWD_ONE_BWD", "1F1B", False),
        ("GPIPE_BUT_1F1B_FOR_LAST_MESH", "GPipeBut1F1BForLastMesh", False),
        ("CIRCULAR", "Circular", False),
        ("CIRCULAR_WITH_REVERSED_BACKWARD", "CircularWithReversedBackward", False),
        ("ZERO_BUBBLE_H1", "ZeroBubbleH1", True),
        ("ZERO_BUBBLE_H2_ZERO_TX_LATENCY", "ZeroBubbleH2ZeroTxLatency", True),
        ("ZERO_BUBBLE_H2_HALF_TX_LATENCY", "ZeroBubbleH2HalfTxLatency", True),
        ("ZERO_BUBBLE_H2_FULL_TX_LATENCY", "ZeroBubbleH2FullTxLatency", True),
        (
            "PARALLEL_PIPELINES_WITH_WRAP_AROUND",
            "ParallelPipelinesWithWrapAround",
            False,
        ),
    ],
)
def test_registry_knows_the_builtin_schedules(name, builtin, split):
    required = {"mpmd_pipeline_schedule": builtin}
    if split:
        required["mpmd_split_bwd_fragments"] = True
    schedule = get_pipeline_schedule(name)
    assert schedule.required_mpmd_options == required
    assert schedule.schedule_merge_rule_builders


def test_unknown_schedule_is_a_key_error():
    with pytest.raises(KeyError, match="ONE_FWD_ONE_BWD"):
        get_pipeline_schedule("1F2B")
    with pytest.raises(KeyError, match="unknown None, known are NONE"):
        get_pipeline_schedule(None)


def order(predicate, infos, meshes):
    """An order of fragments that realises all pairs, or an error on a cycle."""
    context = PipelineContext(meshes)
    pending = list(infos)
    done = []
    while pending:
        ready = next(
            f
            for f in pending
            if not any(predicate(g, f, context) for g in pending if g is not f)
        )
        pending.remove(ready)
        kind = "FB"[ready.origins[0].transpose_count]
        done.append(f"{'W' if ready.split_type is DROP else kind}{ready.call_counter}")
    return " ".join(done)


def microbatches(stage, count):
    return [f(i, stage) for i in range(count) for f in (forward, backward)]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (0, "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4"),
        (1, "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4"),
        (2, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4"),
    ],
)
def test_1f1b_order(stage, expected):
    found = order(schedule_impl.one_fwd_one_bwd, microbatches(stage, 5), 3)
    assert found == expected


def test_gpipe_order():
    expected = "F0 F1 F2 B0 B1 B2"
    assert order(schedule_impl.gpipe, microbatches(0, 3), 3) == expected


def test_gpipe_needs_no_stage_and_takes_any_transpose_count():
    context = PipelineContext(2)
    early, late = info(count=2, counter=0, stage=None), info(count=3, stage=None)
    assert schedule_impl.gpipe(early, late, context)
    assert not schedule_impl.gpipe(late, early, context)


def test_last_mesh_alternates_under_the_mixed_schedule():
    mixed = schedule_impl.gpipe_but_1f1b_for_last_mesh
    assert order(mixed, microbatches(0, 3), 2) == "F0 F1 F2 B0 B1 B2"
    assert order(mixed, microbatches(1, 3), 2) == "F0 B0 F1 B1 F2 B2"


def test_zero_bubble_h1_relation():
    h1, context = schedule_impl.zero_bubble_h1, PipelineContext(3)
    kinds = {
        "F": lambda c: forward(c, 1),
        "B": lambda c: backward(c, 1, KEEP),
        "W": lambda c: backward(c, 1, DROP),
    }
    ordered = {
        (a + str(i), b + str(j))
        for (a, f), (b, g) in itertools.product(kinds.items(), repeat=2)
        for i, j in itertools.product(range(5), repeat=2)
        if (a, i) != (b, j) and h1(f(i), g(j), context)
    }
    assert ordered == (
        {(f"F{i + 1}", f"B{i}") for i in range(4)}
        | {(f"B{i}", f"F{i + 2}") for i in range(3)}
        | {(f"B{i + 1}", f"W{i}") for i in range(4)}
        | {(f"W{i}", f"F{i + 3}") for i in range(2)}
        | {(f"W{i}", f"B{i + 2}") for i in range(3)}
    )


@pytest.mark.parametrize(
    ("predicate", "entry"),
    [
        (schedule_impl.zero_bubble_h2_zero_tx_latency, lambda k: 2 * (3 - k) - 1),
        (schedule_impl.zero_bubble_h2_half_tx_latency, lambda k: 3 * (3 - k) - 2),
        (schedule_impl.zero_bubble_h2_full_tx_latency, lambda k: 4 * (3 - k) - 3),
    ],
)
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_zero_bubble_h2_relation(predicate, entry, stage):
    context = PipelineContext(3)
    e, mirrored = entry(stage), entry(3 - stage - 1)
    for a, b in itertools.product(range(12), repeat=2):
        f = forward(a, stage), forward(b, stage)
        d = backward(a, stage, KEEP), backward(b, stage, KEEP)
        w = backward(a, stage, DROP), backward(b, stage, DROP)
        assert predicate(f[0], d[1], context) == (a < e or a - b == e - 1)
        assert predicate(f[0], w[1], context) == (a < e)
        assert predicate(d[0], f[1], context) == (b >= e and b - a == e)
        assert predicate(d[0], w[1], context) == (a - b == mirrored - 1)
        assert predicate(w[0], d[1], context) == (b - a == mirrored)
        for same in (f, d, w):
            assert not predicate(*same, context)
        assert not predicate(w[0], f[1], context)


def test_circular_orders():
    infos = [
        f(i, stage) for i in range(4) for f in (forward, backward) for stage in (0, 2)
    ]

    def stages(predicate):
        context = PipelineContext(2)
        pending, done = list(infos), []
        while pending:
            ready = next(
                f for f in pending if not any(predicate(g, f, context) for g in pending)
            )
            pending.remove(ready)
            kind = "FB"[ready.origins[0].transpose_count]
            done.append(f"{kind}{ready.call_counter}.{ready.stage_id}")
        return " ".join(done)

    forwards = "F0.0 F1.0 F0.2 F1.2 F2.0 F3.0 F2.2 F3.2 "
    assert stages(schedule_impl.circular) == (
        forwards + "B0.2 B1.2 B0.0 B1.0 B2.2 B3.2 B2.0 B3.0"
    )
    assert stages(schedule_impl.circular_with_reversed_backward) == (
        forwards + "B3.2 B2.2 B3.0 B2.0 B1.2 B0.2 B1.0 B0.0"
    )


@pytest.mark.parametrize("kind", ["circular", "circular_with_reversed_backward"])
def test_without_a_mesh_that_takes_part_nothing_is_ordered(kind):
    """The compiler says then what is wrong."""
    relation = getattr(schedule_impl, kind)
    assert not relation(forward(0), forward(1), PipelineContext(0))


def test_wrap_around_order_starts_at_the_own_microbatch():
    infos = [forward(i, stage=2) for i in range(5)]
    found = order(schedule_impl.parallel_pipelines_with_wrap_around, infos, 5)
    assert found == "F2 F1 F0 F4 F3"


def test_wrap_around_refuses_backward_fragments_and_equal_counters():
    wrap, context = (
        schedule_impl.parallel_pipelines_with_wrap_around,
        PipelineContext(2),
    )
    with pytest.raises(ValueError, match="orders forward computations only"):
        wrap(forward(0), backward(1), context)
    with pytest.raises(ValueError, match="one computation of each call counter"):
        wrap(forward(0), info("g"), context)


PREDICATES = [
    getattr(schedule_impl, name)
    for name in schedule_impl.__all__
    if name not in ("is_scheduling_unit", "transpose_count")
]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_fragments_that_are_no_scheduling_units_are_not_ordered(predicate):
    context = PipelineContext(2)
    mixed = FragmentInfo(
        (FragmentOrigin("f"), FragmentOrigin("f", 1)), 0, 0, mesh_name="m0"
    )
    others = [mixed, info(counter=None), FragmentInfo((), 0, 0, mesh_name="m0")]
    for other in others:
        assert not predicate(other, forward(1), context)
        assert not predicate(forward(1), other, context)


@pytest.mark.parametrize(
    "predicate", [p for p in PREDICATES if p is not schedule_impl.gpipe]
)
def test_scheduling_units_need_a_stage(predicate):
    context = PipelineContext(2)
    with pytest.raises(ValueError, match="has no stage"):
        predicate(info(stage=None), forward(1), context)
    with pytest.raises(ValueError, match="has no stage"):
        predicate(forward(1), info(stage=None), context)


@pytest.mark.parametrize("name", pipeline_schedule_names())
@pytest.mark.parametrize("seed", range(8))
def test_what_refuses_rules_refuses_fragments_without_making_rules(name, seed):
    random = np.random.default_rng([seed, len(name)])
    infos = [
        info(
            count=int(random.choice([0, 1], p=[0.9, 0.1])),
            counter=int(counter) if random.random() < 0.9 else None,
            stage=None if random.random() < 0.1 else 0,
        )
        for counter in random.permutation(6)[: 1 + seed]
    ]
    # Once more with an equal counter, which only wrap-around refuses.
    infos += [info("g", counter=infos[0].call_counter)] * int(seed % 4 == 3)
    schedule, context = get_pipeline_schedule(name), PipelineContext(2)

    def refusal(build):
        try:
            found = build(schedule, infos, context)
        except ValueError as error:
            return str(error).partition("FragmentInfo")[0]
        return found if build is build_merge_rules else found[1]

    assert refusal(build_merge_rules) == refusal(pipeline.build_rules)


def test_merge_rules_of_own_builders_are_made():
    rule = FragmentMergeRule(sources={A, B}, target=A)
    schedule = PipelineSchedule(
        [lambda infos, context: ([], [rule])], {"mpmd_pipeline_schedule": "1F1B"}
    )
    infos = [A, B, info(mesh="m1")]
    assert build_merge_rules(schedule, infos, PipelineContext(2)) == [rule, rule]
