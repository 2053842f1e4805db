"""The generated folder: the same bytes everywhere, whole or not at all, no path of a machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pezo_hw import files, resources
from pezo_hw.config import load, names
from pezo_hw.errors import PezoError
from pezo_hw.export import folder
from pezo_hw.export.ports import ports
from pezo_hw.export.rtl import build

STEP = [
    "core.name=small_step",
    "source.generators=4",
    "reuse.lanes=4",
]


def _files(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("generated") / "tiny"
    folder.generate(load("tiny"), place)
    return place


@pytest.mark.parametrize(
    ("ref", "overrides"),
    [
        ("tiny", []),
        ("zcu102-step", STEP),
        ("zcu102-pregen", ["source.pool_size=255", "source.words=4", "reuse.lanes=8"]),
    ],
    ids=["tiny", "step", "pregen"],
)
def test_two_places_and_two_processes_give_the_same_bytes(
    tmp_path: Path, ref: str, overrides: list[str]
) -> None:
    options = [word for override in overrides for word in ("--set", override)]
    places = [tmp_path / "one", tmp_path / "a longer place" / "two"]
    for number, place in enumerate(places):
        place.parent.mkdir(exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pezo_hw.cli", "generate", ref, "-o", place.name, *options],
            cwd=place.parent,
            env=os.environ
            | {"PYTHONHASHSEED": str(number), "PYTHONPATH": str(Path(__file__).parents[2])},
            check=True,
            capture_output=True,
        )
    first, second = (_files(place) for place in places)
    assert first == second
    for path, content in first.items():
        text = content.decode()
        assert str(tmp_path) not in text
        # Absolute paths: a slash at the start of a word, with another further on.
        found = re.findall(r"(?<![\w.:*/])/[A-Za-z_]\w*/\w+", text)
        assert not found, f"{path} holds {found}"


def test_the_search_for_absolute_paths_finds_one() -> None:
    text = "# made in /home/somebody/project\n"
    assert re.findall(r"(?<![\w.:*/])/[A-Za-z_]\w*/\w+", text)


def test_manifest_lists_every_file_with_its_checksum(tiny: Path) -> None:
    manifest = json.loads((tiny / "pezo.json").read_text())
    found = _files(tiny)
    assert set(found) == {"pezo.json", *manifest["sha256"]}
    for path, digest in manifest["sha256"].items():
        assert hashlib.sha256(found[path]).hexdigest() == digest
    listed = [path for paths in manifest["files"].values() for path in paths]
    assert sorted(listed) == sorted(manifest["sha256"])


def test_the_folder_s_own_configuration_generates_it_again(tiny: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    folder.generate(load(str(tiny / "tiny.toml")), again)
    assert _files(again) == _files(tiny)


def test_ports_of_the_manifest_are_those_of_the_wrapper(tiny: Path) -> None:
    manifest = json.loads((tiny / "pezo.json").read_text())
    text = (tiny / "rtl" / "tiny.v").read_text()
    found = [
        (name, direction, int(high) + 1 if high else 1)
        for direction, high, name in re.findall(
            r"(input|output) +wire (?:\[(\d+):0\] )?(\w+)[,\n]", text
        )
    ]
    listed = [(port["name"], port["direction"], port["width"]) for port in manifest["ports"]]
    assert found == listed


def test_module_names_start_with_the_core_s_name(tiny: Path) -> None:
    text = "".join(path.read_text() for path in sorted((tiny / "rtl").glob("*v")))
    modules = re.findall(r"(?m)^module +(\S+?) ?[(]", text)
    assert len(modules) > 4
    assert all(name == "tiny" or re.fullmatch(r"tiny__core(__\w+)?", name) for name in modules)


def test_generating_again_replaces_the_folder(tmp_path: Path) -> None:
    place = tmp_path / "core"
    folder.generate(load("tiny"), place)
    folder.generate(load("tiny", ["core.name=other"]), place)
    assert (place / "rtl" / "other.v").is_file()
    assert not (place / "rtl" / "tiny.v").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["core"]


def test_files_of_others_are_not_lost(tmp_path: Path) -> None:
    place = tmp_path / "core"
    place.mkdir()
    (place / "thesis.tex").write_text("precious")
    with pytest.raises(PezoError, match=r"^--output .* it holds thesis.tex; choose another"):
        folder.generate(load("tiny"), place)
    assert (place / "thesis.tex").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["core"]
    folder.generate(load("tiny"), place, force=True)
    assert not (place / "thesis.tex").exists()


def test_edits_of_a_user_are_not_lost(tmp_path: Path) -> None:
    place = tmp_path / "core"
    folder.generate(load("tiny"), place)
    (place / "rtl" / "tiny.v").write_text("mended by hand")
    message = r"^--output .* as they were generated, but rtl/tiny.v has been edited since; choose"
    with pytest.raises(PezoError, match=message):
        folder.generate(load("tiny"), place)
    assert (place / "rtl" / "tiny.v").read_text() == "mended by hand"
    folder.generate(load("tiny"), place, force=True)
    assert (place / "rtl" / "tiny.v").read_text() != "mended by hand"


def test_a_board_of_the_user_goes_with_its_configuration(tmp_path: Path) -> None:
    board = tmp_path / "here" / "mine.py"
    board.parent.mkdir()
    zcu104 = (resources.boards_dir() / "zcu104.py").read_text(encoding="utf-8")
    board.write_text(zcu104, encoding="utf-8")
    folder.generate(load("tiny", [f"core.board={board}"]), tmp_path / "core")
    board.unlink()
    assert (tmp_path / "core" / "mine.py").read_text(encoding="utf-8") == zcu104
    folder.generate(load(str(tmp_path / "core" / "tiny.toml")), tmp_path / "again")
    assert _files(tmp_path / "core") == _files(tmp_path / "again")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "core").write_text("")
    with pytest.raises(PezoError, match=r"^--output .* must be a folder, but it is a file; "):
        folder.generate(load("tiny"), tmp_path / "core")


def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(directory: Path, _files: object) -> None:
        (directory / "half").write_text("written")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_into", fail)
    with pytest.raises(PezoError, match=r"^--output .* must be writable, but: no space left"):
        folder.generate(load("tiny"), tmp_path / "core")
    assert list(tmp_path.iterdir()) == []


def test_a_perturbation_wider_than_the_weight_is_found_with_the_true_exponents(
    tmp_path: Path,
) -> None:
    # Few generators: groups of a small norm get an exponent above the nominal one.
    given = [*STEP, "source.generators=2", "reuse.lanes=4", "weights.bits=8", "weights.frac=7"]
    config = load("zcu102-step", [*given, "zo.epsilon_log2=-3"])
    with pytest.raises(PezoError, match=r"zo.epsilon_log2"):
        folder.generate(config, tmp_path / "core")
    assert list(tmp_path.iterdir()) == []


def test_ecp5_boards_get_a_constraint_for_nextpnr(tiny: Path) -> None:
    assert re.fullmatch(
        r'FREQUENCY PORT "aclk" \d+ MHZ;\n', (tiny / "nextpnr" / "tiny.lpf").read_text()
    )


def test_vivado_files_name_the_board_s_part(tmp_path: Path) -> None:
    config = load("zcu102-step", [*STEP, "core.board=zcu104"])
    manifest = folder.generate(config, tmp_path / "core")
    script = (tmp_path / "core" / "vivado" / "out_of_context.tcl").read_text()
    assert "-part xczu7ev-ffvc1156-2-e" in script
    assert all(path in script for path in manifest["files"]["rtl"])
    constraint = (tmp_path / "core" / "vivado" / "small_step.xdc").read_text()
    period = float(re.search(r"-period ([\d.]+)", constraint)[1])  # type: ignore[index]
    assert period == pytest.approx(1e9 / manifest["board"]["clock_hz"], abs=1e-3)


def test_no_core_may_have_the_name_of_a_port() -> None:
    for preset in ("tiny", "zcu102-step"):
        listed = {port.name for port in ports(build(load(preset)))} | {"aclk", "aresetn"}
        assert listed <= names.TAKEN
        for name in listed:
            assert names.problem(name) is not None
    assert names.problem("starter") is None


def test_a_folder_is_filled_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "core"
    place.mkdir(mode=0o700)
    inode = place.stat().st_ino
    (tmp_path / "link").symlink_to(place)
    monkeypatch.chdir(place)
    for output in (".", "../core", "../link"):
        folder.generate(load("tiny"), Path(output))
        assert (place / "pezo.json").is_file()
        assert place.stat().st_ino == inode
        assert place.stat().st_mode & 0o777 == 0o700
        assert not [path.name for path in place.iterdir() if path.name.startswith(".")]
    assert (tmp_path / "link").is_symlink()


def test_an_exchange_that_fails_half_way_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_folder(tmp_path / "f", {"a": b"1", "b/c": b"2"})
    real = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == "z":
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(PezoError, match=r"no space left"):
        files.write_folder(tmp_path / "f", {"a": b"3", "z": b"4"})
    assert _files(tmp_path / "f") == {"a": b"1", "b/c": b"2"}
