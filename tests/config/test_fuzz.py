"""Whatever is given: a valid configuration, or a PezoError of one line. Nothing else, ever."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pezo_hw.config import from_mapping, load, preset_names, to_toml, warnings
from pezo_hw.config.models import SECTIONS, section_keys
from pezo_hw.errors import PezoError

few = settings(
    max_examples=50,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

keys = st.sampled_from([(s, k) for s in SECTIONS for k in section_keys(s)])
plausible = st.one_of(
    st.integers(-20, 70),
    st.sampled_from(["clock", "period", "group", "constant", "none", "auto", "seeded", "zo-step"]),
    st.sampled_from(["on-the-fly", "pre-generated", "perturbation", "module", "", "8", "x.py"]),
    st.sampled_from([4093, 4096, 65536, 65537, 0x11D, 0x11B, 2**32, -1, 1 << 300]),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def outcome(build: Any) -> None:
    """Build a configuration; what comes must be whole, or one line."""
    try:
        config = build()
    except PezoError as error:
        message = str(error)
        assert message and message.isprintable() and len(message) < 1500, message
        return
    assert from_mapping(tomllib.loads(to_toml(config))) == config
    assert all(line.isprintable() for line in warnings(config))


@few
@given(
    preset=st.sampled_from(preset_names()),
    changes=st.dictionaries(keys, plausible | anything, max_size=4),
    removed=st.sets(keys, max_size=2),
)
def test_changed_mappings(preset: str, changes: dict[Any, Any], removed: set[Any]) -> None:
    mapping: Any = load(preset).model_dump(exclude_none=True)
    for section, key in removed:
        mapping.get(section, {}).pop(key, None)
    for (section, key), value in changes.items():
        mapping.setdefault(section, {})[key] = value
    outcome(lambda: from_mapping(mapping))


@few
@given(
    mapping=st.dictionaries(
        st.sampled_from(list(SECTIONS)) | st.text(max_size=8),
        anything | st.dictionaries(st.text(max_size=8) | st.sampled_from(["kind"]), anything),
    )
    | anything
)
def test_arbitrary_mappings(mapping: Any) -> None:
    outcome(lambda: from_mapping(mapping))


@few
@given(
    preset=st.sampled_from(preset_names()) | st.text(max_size=20),
    overrides=st.lists(
        st.text(max_size=20)
        | st.builds(lambda k, v: f"{k[0]}.{k[1]}={v}", keys, plausible | st.text(max_size=20)),
        max_size=4,
    ),
)
@example(preset="tiny", overrides=["core.board=\udcff.py"])
@example(preset="tiny", overrides=["source.bits=" + "[" * 3000])
@example(preset="tiny", overrides=["source.bits=" + "9" * 5000])
@example(preset="tiny", overrides=["core.parameters=0x" + "f" * 5000])
def test_overrides(preset: str, overrides: list[str]) -> None:
    outcome(lambda: load(preset, overrides))


@few
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8")))
def test_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    outcome(lambda: load(path))


@few
@given(data=st.data())
def test_damaged_files(tmp_path: Path, data: st.DataObject) -> None:
    text = to_toml(load(data.draw(st.sampled_from(preset_names())))).encode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    path = tmp_path / "x.toml"
    path.write_bytes(text[:start] + data.draw(st.binary(max_size=8)) + text[end:])
    outcome(lambda: load(path))
