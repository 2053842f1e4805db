from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pezo_hw import tools
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.simulate import run

MakeFolder = Callable[..., Path]

_UNUSED = "module unused (input aclk, input aresetn, output q); assign q = aclk; endmodule\n"


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("wrong", r"^bad on \w+: wrong: 7 is not 8\nlast lines:\n"),
        ("broken", r"^bad on \w+: broken: KeyError: 'lanes'\nlast lines:\n"),
        ("too_long", r"^bad on \w+: too_long: hang: 50 clocks are over; no streams\nlast lines:\n"),
        ("absent", r"^bad on \w+: no test ran\n"),
    ],
)
def test_failures(make_folder: MakeFolder, bad_bench: Path, test: str, message: str) -> None:
    with pytest.raises(CheckFailed, match=message):
        run(make_folder(), bench=bad_bench, tests=[test])


def test_failures_are_counted(
    make_folder: MakeFolder, bad_bench: Path, simulator: str, tmp_path: Path
) -> None:
    tests = ["fine", "wrong", "broken"]
    with pytest.raises(CheckFailed) as caught:
        run(
            make_folder(),
            bench=bad_bench,
            simulator=simulator,
            tests=tests,
            build_dir=tmp_path / "run",
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == f"bad on {simulator}: 2 of 3 tests failed; the first, wrong: 7 is not 8"
    assert lines[1] == f"last lines of {tmp_path}/run/simulation.log:"
    assert any("bad.broken" in line for line in lines)


def test_a_test_that_does_not_run(make_folder: MakeFolder, bad_bench: Path) -> None:
    message = r"^bad on verilator: these tests did not run: absent\n"
    with pytest.raises(CheckFailed, match=message):
        run(make_folder(), bench=bad_bench, tests=["fine", "absent"])


def test_a_run_without_end_is_stopped(
    make_folder: MakeFolder, bad_bench: Path, simulator: str
) -> None:
    message = r"^bad on \w+: the simulation did not end within 2 s\n"
    with pytest.raises(CheckFailed, match=message):
        run(make_folder(), bench=bad_bench, simulator=simulator, tests=["endless"], timeout=2.0)


def test_old_results_do_not_count(make_folder: MakeFolder, bad_bench: Path, tmp_path: Path) -> None:
    folder, place = make_folder(), tmp_path / "run"
    assert run(folder, bench=bad_bench, tests=["fine"], build_dir=place).tests == 1
    with pytest.raises(CheckFailed, match="did not end"):
        run(folder, bench=bad_bench, tests=["endless"], build_dir=place, timeout=2.0)


def test_unknown_inputs_are_seen(make_folder: MakeFolder, skid_bench: Path) -> None:
    try:
        tools.icarus()
    except PezoError:
        pytest.skip("Icarus Verilog (iverilog) is not installed")
    with pytest.raises(
        CheckFailed, match=r"unknown: clock 2: m_axis_tdata is X+\.\.\.X+ \(72 bits"
    ):
        run(make_folder(), bench=skid_bench, simulator="icarus", tests=["unknown"])


def test_waves(make_folder: MakeFolder, bad_bench: Path, simulator: str, tmp_path: Path) -> None:
    result = run(
        make_folder(),
        bench=bad_bench,
        simulator=simulator,
        tests=["fine"],
        waves=True,
        build_dir=tmp_path / "waves",
    )
    assert result.waves is not None
    text = result.waves.read_text()
    # A signal inside the device, and the rising edge after half a period of 10 ns.
    assert "spare_full" in text and "#5000" in text
    with pytest.raises(PezoError, match=r"^waves need a folder to stay in: give build_dir$"):
        run(tmp_path / "a folder", bench=bad_bench, simulator=simulator, waves=True)


def test_verilator_warnings_are_failures(make_folder: MakeFolder, bad_bench: Path) -> None:
    message = (
        r"^verilator -Wall must accept unused without a warning, but says: "
        r"%Warning-UNUSEDSIGNAL: unused\.v:1:\d+: Signal is not used: 'aresetn'$"
    )
    with pytest.raises(CheckFailed, match=message):
        run(make_folder(_UNUSED, top="unused"), bench=bad_bench, tests=["fine"])


def test_waivers_are_used(make_folder: MakeFolder, bad_bench: Path) -> None:
    folder = make_folder(
        _UNUSED, top="unused", waivers='lint_off -rule UNUSEDSIGNAL -file "*unused.v"'
    )
    assert run(folder, bench=bad_bench, tests=["fine"]).tests == 1


def test_verilog_that_is_none(make_folder: MakeFolder, bad_bench: Path, simulator: str) -> None:
    with pytest.raises(
        CheckFailed, match=r"must accept bad without a warning, but says: .*bad\.v:1"
    ):
        run(make_folder("module bad (;\n", top="bad"), bench=bad_bench, simulator=simulator)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, r"^.* must be a folder written by `pezo generate`, but holds no pezo\.json$"),
        ("{", r"must be a manifest with the keys top and files\.rtl, but .* JSONDecodeError: "),
        ("[]", r"must be a manifest .*TypeError: "),
        ('{"top": "a"}', r"must be a manifest .*KeyError: 'files'"),
        ('{"top": "a", "files": {"rtl": ["a.v"]}}', r"names a\.v, which is not there; "),
        ('{"top": "a", "files": {"rtl": []}}', r"names no files under files\.rtl; "),
    ],
)
def test_bad_folders(tmp_path: Path, bad_bench: Path, manifest: str | None, message: str) -> None:
    if manifest is not None:
        (tmp_path / "pezo.json").write_text(manifest)
    with pytest.raises(PezoError, match=message) as caught:
        run(tmp_path, bench=bad_bench)
    assert "\n" not in str(caught.value)


def test_bad_arguments(make_folder: MakeFolder, bad_bench: Path, tmp_path: Path) -> None:
    folder = make_folder()
    with pytest.raises(PezoError, match=r"^simulator must be verilator or icarus, not 'vcs'$"):
        run(folder, bench=bad_bench, simulator="vcs")
    with pytest.raises(PezoError, match=r"^the bench must be one of .*, not 'nothing'$"):
        run(folder, bench="nothing")
    with pytest.raises(PezoError, match=r"^the bench .*no\.py must be a Python file, but does not"):
        run(folder, bench=tmp_path / "no.py")


def test_icarus_must_be_installed(
    make_folder: MakeFolder, bad_bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    tools.icarus.cache_clear()
    message = r"^icarus is not installed: apt install iverilog, or --simulator verilator$"
    with pytest.raises(PezoError, match=message):
        run(make_folder(), bench=bad_bench, simulator="icarus")


def test_surroundings_do_not_matter(
    make_folder: MakeFolder, bad_bench: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COCOTB_TEST_FILTER", "nothing")
    monkeypatch.setenv("VERILATOR_ROOT", "/nowhere")
    monkeypatch.setenv("COCOTB_RESULTS_FILE", str(tmp_path / "elsewhere.xml"))
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert run(make_folder(), bench=bad_bench, tests=["fine"]).tests == 1
    assert set(tmp_path.iterdir()) - before == {tmp_path / "a folder"}
