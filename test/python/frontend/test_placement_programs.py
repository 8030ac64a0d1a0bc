"""A part of the training steps of `make difftest`: where all of their state lives."""

import contextlib

import pytest
from support import placement_programs
from support.difftest import __main__ as difftest
from support.difftest import placement as difftest_placement


@pytest.fixture
def comparison():
    with contextlib.closing(difftest_placement.PlacementComparison()) as found:
        yield found


# Of each model steps that read state in different ways.
LOWERED = [
    ("plain", "adamw schedule", "names", True),
    ("plain", "adafactor", "marks", False),
    ("plain", "muon", "auto", True),
    ("plain", "prodigy", "marks", False),
    ("plain", "schedule_free_adamw", "names", False),
    ("plain", "skip_large_updates", "auto", True),
    ("plain", "lm clipped", "marks", True),
    ("plain", "lm logged", "names", False),
    ("plain", "lm stacked", "marks", False),
    ("plain", "lm concatenated", "auto", False),
    ("plain", "lm raveled", "marks", True),
    ("plain", "lm count placed", "marks", False),
    ("plain", "lm passed through", "names", True),
    ("plain", "lm where", "auto", False),
    ("plain", "lm actor", "marks", False),
    ("plain", "lm barrier", "marks", True),
    ("plain", "lm similar", "marks", False),
    ("plain", "lm noisy", "marks", False),
    ("raveled", "adam", "names", False),
    ("raveled", "lm actor", "names", True),
    ("raveled", "lm clipped", "marks", False),
    ("prepared", "adamw", "auto", True),
    ("prepared", "lm logged", "marks", False),
    ("prepared", "lm clipped", "names", False),
    ("prepared", "prodigy", "names", True),
    ("varied", "adam", "marks", False),
    ("varied", "zero_nans", "names", True),
    ("varied", "adam", "auto", True),
    ("divided", "lm clipped", "auto", False),
    ("divided", "apply_if_finite", "marks", False),
    ("divided", "mechanize", "names", True),
    ("divided", "lm barrier", "marks", True),
    ("anchored", "lm raveled", "names", False),
    ("tied", "lm noisy", "marks", False),
    ("frozen", "lbfgs", "names", False),
    ("divided", "adamw", "marks", True),
    ("divided", "lm clipped", "names", False),
    ("anchored", "adam", "names", False),
    ("anchored", "lm where", "marks", True),
    ("anchored", "adam", "auto", False),
    ("read twice", "lm clipped", "marks", False),
    ("read twice", "multi_transform", "names", True),
    ("read twice", "clip_by_global_norm", "auto", True),
    ("plain", "lbfgs", "marks", False),
    ("decay", "lbfgs", "auto", True),
    ("decay", "lm logged", "auto", True),
    ("decay", "novograd", "names", False),
    ("read twice", "novograd", "auto", False),
    ("tied", "adam", "marks", False),
    ("tied", "lm clipped", "marks", False),
    ("tied", "lm passed through", "auto", True),
    ("tied", "polyak_sgd", "names", False),
    ("tied", "reduce_on_plateau", "marks", False),
    ("unused", "adam", "auto", True),
    ("unused", "dog", "marks", False),
    ("unused", "lm actor", "names", False),
    ("frozen", "adamw", "marks", True),
    ("frozen", "clip_by_global_norm", "names", False),
    ("frozen", "dog", "marks", True),
    ("frozen", "skip_large_updates", "auto", False),
    ("lora", "clip_by_global_norm", "names", False),
    ("lora", "sam", "marks", True),
    ("experts", "apply_if_finite", "marks", False),
    ("experts", "inject_hyperparams", "auto", True),
    ("plain", "lm skipped", "marks", True),
    ("decay", "lm skipped", "names", False),
    ("lora", "finite lbfgs", "names", False),
    ("tied", "finite lbfgs", "marks", False),
    ("read twice", "finite prodigy", "auto", True),
    ("plain", "finite clipped muon", "marks", False),
    ("frozen", "galore", "marks", False),
    ("frozen", "lm barrier", "marks", True),
    ("unused", "lm where", "names", False),
    ("unused", "momo", "marks", False),
    ("raveled", "lm barrier", "names", False),
    ("plain", "finite lbfgs", "marks", False),
]
RUN = [
    ("varied", "muon", "auto", False),
    ("divided", "finite lbfgs", "auto", True),
    ("raveled", "adamw", "auto", True),
    ("prepared", "lm similar", "auto", False),
    ("plain", "lm cond", "marks", False),
    ("experts", "MultiSteps", "names", True),
    ("tied", "lbfgs", "names", True),
]


def name(choice):
    return "-".join(map(str, choice))


@pytest.mark.parametrize("choice", LOWERED, ids=name)
def test_state_lives_with_its_weight(choice, comparison):
    program = placement_programs.make(*choice)
    assert comparison.wrong(program, runs=False) == []


@pytest.mark.parametrize("choice", RUN, ids=name)
def test_numbers_are_those_of_jax(choice, comparison):
    program = placement_programs.make(*choice)
    assert comparison.wrong(program, runs=True) == []


def test_every_step_has_a_number():
    choices = placement_programs.choices()
    assert len(set(choices)) == len(choices)
    assert {*LOWERED, *RUN} <= set(choices)
    assert choices == placement_programs.choices()


def test_numbers_after_the_last_step_are_refused(monkeypatch, capsys):
    last = len(placement_programs.choices()) - 1
    monkeypatch.setattr("sys.argv", ["difftest", "--placement", "--first", "999999"])
    with pytest.raises(SystemExit, match="2"):
        difftest.main()
    assert f"there are steps 0 to {last}, got 999999" in capsys.readouterr().err
