"""Presets, files and overrides."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from pezo_hw.config import load, load_preset, preset_names, preset_summary, to_toml
from pezo_hw.errors import PezoError


def refusal(ref: str | Path, *overrides: str) -> str:
    with pytest.raises(PezoError) as caught:
        load(ref, overrides)
    return str(caught.value)


def test_presets() -> None:
    names = preset_names()
    assert names == sorted(names)
    assert {"tiny", "zcu102-onthefly", "zcu102-pregen", "zcu102-step"} <= set(names)
    assert {"zcu102-wide", "zcu102-rademacher"} <= set(names)
    for name in preset_names():
        assert load(name) == load_preset(name)
        assert preset_summary(name)


def test_unknown_preset() -> None:
    with pytest.raises(PezoError, match=r'^PRESET must be .+, not "zcu102"; did you mean zcu102-'):
        load_preset("zcu102")
    with pytest.raises(PezoError, match=r'^PRESET must be .+, not "q"; the presets are tiny, .+$'):
        preset_summary("q")


def test_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_preset("tiny")
    (tmp_path / "sub").mkdir()
    path = tmp_path / "my.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    assert load(path) == load(str(path)) == config
    monkeypatch.chdir(tmp_path / "sub")
    assert load("../my.toml") == config
    path.write_bytes(b"\xef\xbb\xbf" + to_toml(config).replace("\n", "\r\n").encode())
    assert load(path) == config


def test_a_preset_goes_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny").write_text("x = 1\n", encoding="utf-8")
    assert load("tiny") == load_preset("tiny")
    assert refusal("./tiny").startswith("./tiny: unknown key x")


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"", r"section \[core\] is missing; .+ \(and 2 more\)"),
        (b"[core\n", r"must be valid TOML, but: .+ \(at line 1, column 6\); correct this place"),
        (b"[core]\nname = a b\n", r"must be valid TOML, but: .+line 2.+; correct this place"),
        (b"[core]\n[core]\n", r"must be valid TOML, but: .+; correct this place"),
        (b"a = " + b"[" * 5000, r"must be valid TOML, but: nested too deeply; correct this place"),
        (b"a = " + b"9" * 5000, r"must be valid TOML, but: .+; correct this place"),
        (
            b"[core]\nname = 0x" + b"f" * 5000,
            r"core\.name must be .+, not an integer of .+ bits; .+",
        ),
        (b"\x00\x01", r"must be valid TOML, but: .+; correct this place"),
        (b"# \xe9\n", r"must be UTF-8 text, but line 1 is not; save it again as UTF-8"),
        (b"\n\n\xff\xff", r"must be UTF-8 text, but line 3 is not; save it again as UTF-8"),
        ("a = 1".encode("utf-16"), r"must be UTF-8 text, not UTF-16; save it again as UTF-8"),
        (b"#" * (1 << 21), r"must have at most 1048576 bytes; is it really a configuration\?"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, pattern: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    message = refusal(path)
    assert re.fullmatch(re.escape(str(path)) + ": (" + pattern + ")", message), message


def test_what_is_not_a_file(tmp_path: Path) -> None:
    assert refusal(tmp_path) == (
        f"{tmp_path}: must be a TOML file, not a directory; name the file in it"
    )
    for ref in ("", "no/such.toml", "a\0b", "x" * 5000, "q"):
        assert re.fullmatch(
            r'CONFIG must be a preset or an existing file, not ".*"; check the path, or choose one '
            r"of the presets tiny, .+",
            refusal(ref),
        )
    assert refusal("zcu102-stp.toml").endswith("; did you mean the preset zcu102-step?")


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pretended, because root may read every file.
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = tmp_path / "x.toml"
    path.touch()
    monkeypatch.setattr(Path, "open", refuse)
    assert (
        refusal(path) == f"{path}: must be readable, but: Permission denied; check its permissions"
    )


@pytest.mark.parametrize(
    "overrides",
    [
        ["source.bits=12"],
        [" source . bits = 12 "],
        ["source.bits=9", "source.bits=12"],
        ["source.bits=0xc # twelve"],
    ],
)
def test_overrides(overrides: list[str]) -> None:
    assert load("zcu102-step", overrides).source.bits == 12


def test_words_need_no_quotes() -> None:
    config = load(
        "tiny", ["core.name=abc", "core.board=my boards/x=1.py", 'source.phases="seeded"']
    )
    assert config.core.name == "abc"
    assert config.core.board == "my boards/x=1.py"
    assert config.source.model_dump()["phases"] == "seeded"


def test_overrides_may_add_a_section() -> None:
    step = ["core.kind=zo-step", "weights.bits=8", "weights.frac=5", "zo.epsilon_log2=-4"]
    assert load("tiny", step).zo is not None


def test_an_empty_value_removes_a_key(tmp_path: Path) -> None:
    zoqo = ["zo.update=zoqo", "zo.levels=3", " scaling . mode = "]
    config = load("zcu102-step", [*zoqo, "zo.epsilon_log2="])
    assert config.zo is not None and config.zo.epsilon_log2 is None and config.zo.levels == 3
    # The last one for a key counts, and what is not there can be removed.
    assert load("tiny", ["source.seed=", "source.seed=7", "zo.levels="]) == load(
        "tiny", ["source.seed=7"]
    )
    assert load("tiny", ["source.seed=7", "source.seed="]) == load("tiny")
    # The message of a key that is in the way says how to go on.
    found = re.search(r"; remove it \(--set (\S+=)\)$", refusal("zcu102-step", *zoqo))
    assert found and load("zcu102-step", [*zoqo, found[1]]) == config
    path = tmp_path / "x.toml"
    path.write_text("core = 3\n")
    assert refusal(path, "core.name=").startswith(f"{path}: core must be a section, not 3")


FORM = r"must have the form section\.key=value, but "


@pytest.mark.parametrize(
    ("override", "pattern"),
    [
        ("source.bits", FORM + r"has no '='; write e\.g\. --set source\.bits=8"),
        ("", FORM + r"has no '='; write e\.g\. --set source\.bits=8"),
        ("bits=8", FORM + r"names no section and key; did you mean source\.bits\?"),
        ("=8", FORM + r"names no section and key; write e\.g\. --set source\.bits=8"),
        ("source.=8", FORM + r"names no section and key; write e\.g\. --set source\.bits=8"),
        ("source.bits=", r"source\.bits is missing; add it to \[source\]: an integer from .+"),
        ("source.bit=", r"unknown key source\.bit; did you mean source\.bits\?"),
        ('core.board=""', r"core\.board must be the name of a board .+, not \"\"; .+"),
        ("sorce.bits=8", r"unknown section \[sorce\]; did you mean \[source\]\?"),
        ("source.bit=8", r"unknown key source\.bit; did you mean source\.bits\?"),
        ("source.bits.x=8", r"unknown key source\.\"bits\.x\"; did you mean source\.bits\?"),
        ("source.bits=17", r"source\.bits must be an integer from 4 to 16, not 17; use 16"),
        ("source.bits=8\\n", r'source\.bits must be .+, not "8\\\\n"; write a whole number'),
        ("source.bits=8.0", r"source\.bits must be an integer from 4 to 16, not 8\.0; write 8"),
        ("source.kind=fly", r"source\.kind must be .+, not \"fly\"; choose one of them"),
        ("source.kind=pre-generated", r"source\.generators must be left out .+ \(and 3 more\)"),
        ('core.board="zcu102', r"the value must be valid TOML; check its quotes and brackets"),
        ("core.board=[1,", r"the value must be valid TOML; check its quotes and brackets"),
        ("reuse.lanes=33", r"reuse\.lanes must be a multiple .+, not 33; use 32 or 64"),
        # The key that is wrong is not the one that was set.
        ("source.generators=3", r"reuse\.lanes must be a multiple .+, not 32; use 30 or 33"),
    ],
)
def test_bad_overrides(override: str, pattern: str) -> None:
    message = refusal("zcu102-step", override)
    assert re.fullmatch(re.escape(f"--set {override}: ") + pattern, message), message


def test_an_override_cannot_smuggle_in_a_key() -> None:
    message = refusal("tiny", "source.bits=8\nvalue2=3")
    assert re.fullmatch(r"--set source\.bits=8\\nvalue2=3: source\.bits must be .+", message)


def test_long_overrides_are_cut() -> None:
    assert len(refusal("tiny", "source.bits=" + "x" * 10_000)) < 300


def test_another_kind_of_source_is_blamed_for_what_it_needs() -> None:
    kind, keys = "source.kind=pre-generated", ("generators", "rotation", "phases")
    given = [kind, *(f"source.{key}=" for key in keys)]
    message = refusal("zcu102-onthefly", *given)
    assert message.startswith(f"--set {kind}: source.pool_size is missing; add it to [source]: an")
    given += ["source.pool_size=101", "source.words=8"]
    assert load("zcu102-onthefly", given).source.kind == "pre-generated"


def test_a_fault_of_the_file_is_not_blamed_on_the_override(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(to_toml(load_preset("tiny")).replace("lanes = 6", "lanes = 7"))
    assert refusal(path, "source.seed=3").startswith(f"{path}: reuse.lanes must be a multiple")
    path.write_text("core = 3\n")
    assert refusal(path, "core.name=a").startswith(f"{path}: core must be a section, not 3")


def test_a_board_counts_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_toml(load_preset("tiny")).replace('board = "ulx3s_85f"', 'board = "b/my.py"')
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    config = load("x.toml")
    monkeypatch.chdir("/")
    assert config.core.board == "b/my.py"
    assert config.board_reference == str(tmp_path / "b" / "my.py")
    # From the command line it counts from where the command runs.
    assert load(tmp_path / "x.toml", ["core.board=my.py"]).board_reference == "my.py"
    assert load("tiny").board_reference == "ulx3s_85f"
