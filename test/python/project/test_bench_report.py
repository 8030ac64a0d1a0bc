"""The report of benches: which ratios it finds, and what it marks."""

import json
import math
import re

import pytest
from support.tools import ROOT

from bench import benches, report

TEXT = """
               program            ours     jaxlib   ratio
import         gpt_4_4_4       0.0123 s    0.0456 s   3.71x
peak memory    gpt_4_4_4         118 MB      180 MB   1.52x
         8     0.100     0.020     0.200     1.5x        56        12
GPipe, kept     4x64      512    0.0100    4.1x
mpmd-fragment-dce                 0.0010    0.0041   growth 4.1 3.9
optimize phase, gpt: 0.1000 s, jaxlib 0.3000 s, 3.0x
page: 2.10 MB
optimize       gpt_4_4_4       0.0001 s    0.0007 s   -
chain, mpmd-dce                   0.0001    0.0004   growth -
{"model": "gpt", "donated": {"ratio": 1.25, "jax_ms": 2.0}, "step_to_loop": 0.5}
{"broken
"""


def test_ratios_are_found_in_rows_and_json():
    bench = benches.Bench("b", "b.py", "lower", "")
    run = report.Run(bench, 1.0, 0, TEXT, "", 0.0)
    assert run.untold == {"optimize gpt_4_4_4", "chain, mpmd-dce"}
    assert run.ratios == {
        "import gpt_4_4_4": 3.71,
        "peak memory gpt_4_4_4": 1.52,
        "8": 1.5,
        "GPipe, kept 4x64 512": 4.1,
        "mpmd-fragment-dce [0]": 4.1,
        "mpmd-fragment-dce [1]": 3.9,
        "optimize phase, gpt": 3.0,
        "gpt donated ratio": 1.25,
        "gpt step_to_loop": 0.5,
    }


def changes(better: str, now: float, before: float) -> list[report.Change]:
    bench = benches.Bench("b", "b.py", better, "")
    run = report.Run(bench, 1.0, 0, f"a 0.1 s {now}x", "", 0.0)
    return report.compare(run, {"a": before})


@pytest.mark.parametrize(
    ("better", "now", "before", "is_flagged"),
    [
        ("lower", 1.04, 1.0, False),
        ("lower", 1.06, 1.0, True),
        ("lower", 0.5, 1.0, False),
        ("higher", 0.94, 1.0, True),
        ("higher", 0.96, 1.0, False),
        ("higher", 3.0, 1.0, False),
        ("one", 0.9, 1.0, True),
        ("one", 1.0, 1.2, False),
    ],
)
def test_more_than_five_percent_worse_is_marked(better, now, before, is_flagged):
    (change,) = changes(better, now, before)
    assert change.is_flagged == is_flagged
    assert ("**" in report.percent(change)) == is_flagged


def test_what_is_gone_is_marked_and_what_is_new_is_not():
    bench = benches.Bench("b", "b.py", "lower", "")
    run = report.Run(bench, 1.0, 0, "a 0.1 s 2.0x", "", 0.0)
    new, gone = report.compare(run, {"c": 1.0})
    assert (new.name, new.before, new.is_flagged) == ("a", None, False)
    assert (gone.name, gone.worse, gone.is_flagged) == ("c", math.inf, True)
    short = report.Run(bench, 1.0, 0, "c 0.1 s -", "", 0.0)
    assert report.compare(short, {"c": 1.0}) == []
    text = report.as_markdown([run], {"b": [new, gone]}, {"commit": "abc"})
    assert "worse than the baseline: 1." in text
    assert "| c | nan | 1.00 | **gone** |" in text


def test_every_bench_is_a_script_that_takes_its_options(capsys):
    names = [bench.name for bench in benches.BENCHES]
    assert len(set(names)) == len(names)
    for bench in benches.BENCHES:
        script, *options = bench.command.split()
        text = (ROOT / "bench" / script).read_text()
        for option in re.findall(r"--\w+", " ".join(options)):
            assert f'"{option}"' in text, bench.name


def test_baseline_is_of_benches_that_there_are():
    known = {bench.name for bench in benches.BENCHES}
    entries = json.loads(report.BASELINE.read_text())
    assert entries
    for name, entry in entries.items():
        assert name in known
        assert entry["ratios"] and "commit" in entry["measured"]


def test_a_bench_without_ratios_has_no_baseline(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "BASELINE", tmp_path / "baseline.json")
    runs = [
        report.Run(benches.Bench(name, "b.py", "lower", ""), 1.0, 0, text, "", 0.0)
        for name, text in (("ratios", "a 0.1 s 2.0x"), ("times", "page: 0.12 s"))
    ]
    report.update_baseline(runs, {})
    assert list(report.read_baseline()) == ["ratios"]


def test_a_bench_that_fails_is_seen_and_leaves_the_others(
    tmp_path, monkeypatch, capsys
):
    """The report is there after each bench, whatever the next one does."""
    # Only benches need what draws.
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(report, "plot", lambda changes, file: file.write(b"<svg/>"))
    scripts = {
        "good.py": "print('steps 1.00 2.5x')",
        "bad.py": "import sys; print('steps 1.0 9.0x'); sys.exit('no room')",
    }
    (tmp_path / "bench").mkdir()
    for name, text in scripts.items():
        (tmp_path / "bench" / name).write_text(text)
    found = tuple(benches.Bench(name[:-3], name, "lower", "a test") for name in scripts)
    monkeypatch.setattr(report, "BENCHES", found)
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "BASELINE", tmp_path / "baseline.json")
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["report.py", "-o", str(out), "--update"])
    assert report.main() == 1
    assert "bad: failed with code 1" in capsys.readouterr().out
    text = (out / "report.md").read_text()
    assert "- bad: failed" in text and "no room" in text
    assert {path.name for path in out.iterdir()} == {
        *("report.md", "report.json", "ratios.svg")
    }
    # What failed is no baseline; what is slower than that is said.
    assert list(json.loads((tmp_path / "baseline.json").read_text())) == ["good"]
    (tmp_path / "bench" / "good.py").write_text("print('steps 1.00 2.7x')")
    monkeypatch.setattr("sys.argv", ["report.py", "-o", str(out), "--only", "good"])
    assert report.main() == 0
    assert "good: steps: 8% worse" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", [*report.sys.argv, "--strict"])
    assert report.main() == 1


RUNS = """
import pathlib, sys
count = pathlib.Path(__file__).with_suffix(".count")
number = int(count.read_text()) if count.exists() else 0
count.write_text(str(number + 1))
code, line = {outcomes}[number]
print(line)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("outcomes", "code", "flagged"),
    [
        ([(0, "a 1.0 2.0x"), (0, "a 1.0 1.0x")], 0, []),
        ([(0, "a 1.0 2.0x\nb 1.0 1.0x"), (0, "a 1.0 1.0x\nb 1.0 2.0x")], 0, []),
        ([(0, "a 1.0 2.0x"), (0, "a 1.0 1.5x"), (0, "a 1.0 1.8x")], 0, ["a"]),
        ([(1, "a 1.0 2.0x"), (0, "a 1.0 1.0x")], 0, []),
        ([(0, "a 1.0 2.0x"), (1, "a 1.0 1.0x"), (0, "a 1.0 1.0x")], 0, []),
        ([(1, "a 1.0 2.0x"), (1, "a 1.0 1.0x"), (1, "a 1.0 1.0x")], 1, []),
    ],
)
def test_only_what_each_run_shows_is_believed(
    outcomes, code, flagged, tmp_path, monkeypatch
):
    (tmp_path / "bench").mkdir()
    script = tmp_path / "bench" / "b.py"
    script.write_text(RUNS.replace("{outcomes}", repr(outcomes)))
    monkeypatch.setattr(report, "ROOT", tmp_path)
    bench = benches.Bench("b", "b.py", "lower", "")
    names = {name for _, line in outcomes for name in dict(report.find_ratios(line))}
    found, changes = report.measure(bench, tmp_path, dict.fromkeys(names, 1.0))
    assert found.code == code
    assert [change.name for change in changes if change.is_flagged] == flagged
    assert script.with_suffix(".count").read_text() == str(len(outcomes))


def test_what_is_missing_is_said_before_anything_runs(monkeypatch, capsys):
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("sys.argv", ["report.py"])
    with pytest.raises(SystemExit):
        report.main()
    assert "run scripts/deps.sh bench" in capsys.readouterr().err
