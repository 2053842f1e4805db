"""Models of torch that are small enough for tests; where torch is missing, those are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load

torch = pytest.importorskip("torch", reason="torch is not installed")

CORE = load("zcu102-onthefly", ["source.generators=8", "source.bits=6", "reuse.lanes=24"])
POOL = load("zcu102-pregen", ["source.pool_size=101", "source.words=8", "reuse.lanes=24"])


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small_model() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)
        ).eval()


def samples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(40, 7)).astype(np.float32))
    return x, (x[:, :3]).argmax(dim=1)


def loss_of(model: Any) -> Any:
    x, y = samples()
    return lambda: torch.nn.functional.cross_entropy(model(x), y)


def bytes_of(model: Any) -> bytes:
    return b"".join(tensor.detach().numpy().tobytes() for tensor in model.parameters())
