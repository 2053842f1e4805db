"""The optimiser for torch: the twin of the one for arrays, and what only models have."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.errors import PezoError
from pezo_hw.train import numpy as twin
from pezo_hw.train import paths

torch = pytest.importorskip("torch", reason="torch is not installed")

# Only now: these need torch.
from pezo_hw.train import cct  # noqa: E402
from pezo_hw.train.torch import ZO, TensorSlot, replay  # noqa: E402
from tests.train.small_models import (  # noqa: E402
    CORE,
    POOL,
    bytes_of,
    loss_of,
    one_thread,  # noqa: F401
    samples,
    small_model,
)


@pytest.mark.parametrize("config", [CORE, POOL])
@pytest.mark.parametrize("change", [{}, {"variant": "replay", "queries": 2}, {"rule": "sign"}])
def test_it_is_the_twin_of_the_one_for_arrays(config: Any, change: dict[str, Any]) -> None:
    values: dict[str, Any] = {"source": config, "lr": 0.01, "eps": 1e-3, "seed": 3} | change
    model, other = small_model(), small_model()
    optimiser = ZO(model.parameters(), **values)
    arrays = [tensor.detach().numpy() for tensor in other.parameters()]
    second = twin.ZO(arrays, **values)
    x, y = samples()

    @torch.no_grad()
    def loss() -> float:
        return float(torch.nn.functional.cross_entropy(other(x), y))

    for _ in range(5):
        assert optimiser.step(loss_of(model)) == second.step(loss)
    assert bytes_of(model) == bytes_of(other)
    # And so its perturbations are those of `pezo vectors`, see test_optimiser_bits.
    assert optimiser.stepper.start == second.stepper.start


def test_runs_repeat_and_go_on_after_a_reload(tmp_path: Path) -> None:
    def run(model: Any, steps: int, state: Any = None) -> Any:
        optimiser = ZO(model.parameters(), source=CORE, lr=0.05, eps=1e-3)
        if state is not None:
            optimiser.load_state_dict(state)
        for _ in range(steps):
            optimiser.step(loss_of(model))
        return optimiser.state_dict()

    once, twice, parts = small_model(), small_model(), small_model()
    run(once, 8)
    run(twice, 8)
    torch.save(run(parts, 4), tmp_path / "state.pt")
    run(parts, 4, torch.load(tmp_path / "state.pt"))
    assert bytes_of(once) == bytes_of(twice) == bytes_of(parts)
    wrong = small_model()
    run(wrong, 4)
    run(wrong, 4)  # a new optimiser without the state begins again with the first direction
    assert bytes_of(wrong) != bytes_of(once)


@pytest.mark.parametrize(
    "change", [{}, {"source": "gaussian"}, {"rule": "zoqo", "eps": 0.05}, {"layout": "tensors"}]
)
def test_a_log_makes_the_fine_tuned_model_of_the_base(
    change: dict[str, Any], tmp_path: Path
) -> None:
    model, base = small_model(), small_model()
    values: dict[str, Any] = {"source": CORE, "lr": 0.05, "eps": 1e-3} | change
    optimiser = ZO(model.named_parameters(), **values)
    with optimiser.log(tmp_path / "a.log"):
        for _ in range(10):
            optimiser.step(loss_of(model))
    assert bytes_of(model) != bytes_of(base)
    replay(tmp_path / "a.log", base)
    assert bytes_of(model) == bytes_of(base)
    with pytest.raises(PezoError, match=r"^the base model must have the tensor '0\.weight'"):
        replay(tmp_path / "a.log", torch.nn.Sequential())


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("variant", ["in-place", "replay"])
def test_groups_with_rates_of_their_own_move_along_the_direction_they_were_perturbed_in(
    variant: str, frozen: bool
) -> None:
    # torch draws the last numbers of a row in another way for another length of it.
    tensors = [torch.zeros(40), torch.zeros(40), torch.zeros(9)]
    groups = [{"params": [tensors[0]], "lr": 1e-3}, {"params": [tensors[1]], "lr": 2e-3}]
    groups.append({"params": [tensors[2]], "lr": 1e-3, "frozen": frozen})
    optimiser = ZO(groups, source="gaussian", lr=1e-3, eps=0.1, variant=variant)
    seen: list[Any] = []

    def loss() -> float:
        seen.append([tensor.numpy().astype(np.float64) for tensor in tensors])
        return float(sum(tensor.sum() for tensor in tensors))

    optimiser.step(loss)
    z = [(plus - minus) / 0.2 for plus, minus in zip(*seen, strict=True)]
    gradient = sum(part.sum() for part in z)
    assert np.std(z[1]) > 0.5 and bool(z[2].any()) is not frozen
    for tensor, rate, direction in zip(tensors, (1e-3, 2e-3, 1e-3), z, strict=True):
        assert np.allclose(tensor.numpy(), -rate * gradient * direction, atol=1e-6)
    # Without an update nothing is left.
    still = [tensor.clone() for tensor in tensors]
    optimiser.step(lambda: 1.0)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(tensors, still, strict=True))


@pytest.mark.parametrize("kind", ["lambda", "exponential", "cosine", "linear"])
def test_a_log_takes_a_schedule_of_groups_with_rates_of_their_own(
    kind: str, tmp_path: Path
) -> None:
    schedulers = torch.optim.lr_scheduler
    make: dict[str, Any] = {
        "lambda": lambda o: schedulers.LambdaLR(o, lambda step: 1 / (1 + step / 7)),
        "exponential": lambda o: schedulers.ExponentialLR(o, 0.97),
        "cosine": lambda o: schedulers.CosineAnnealingLR(o, 40),
        "linear": lambda o: schedulers.LinearLR(o, 0.1, 1.0, 20),
    }
    model, base = small_model(), small_model()
    named = list(model.named_parameters())
    rates = (1e-3, 3e-3, 0.7e-3, 1.1e-3)
    groups = [{"params": [one], "lr": rate} for one, rate in zip(named, rates, strict=True)]
    optimiser = ZO(groups, source=CORE, lr=1e-3, eps=1e-3)
    schedule, differ = make[kind](optimiser), False
    with optimiser.log(tmp_path / "a.log"):
        for _ in range(40):
            optimiser.step(loss_of(model))
            schedule.step()
            now = [group["lr"] for group in optimiser.param_groups]
            first = [group.base for group in optimiser.stepper.groups]
            differ |= len({a / b for a, b in zip(now, first, strict=True)}) > 1
    assert differ  # so exact equality would not do
    assert bytes_of(model) != bytes_of(base)
    replay(tmp_path / "a.log", base)
    assert bytes_of(model) == bytes_of(base)


def test_a_schedule_of_torch_works() -> None:
    model = small_model()
    optimiser = ZO(model.parameters(), source=CORE, lr=0.1, eps=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 1, gamma=0.0)
    optimiser.step(loss_of(model))
    schedule.step()
    before = bytes_of(copy.deepcopy(model))
    optimiser.step(loss_of(model))
    now = np.frombuffer(bytes_of(model), dtype=np.float32)
    assert np.allclose(now, np.frombuffer(before, dtype=np.float32), atol=1e-6)


def test_parameters_of_other_types_are_trained_where_they_are() -> None:
    model = small_model().to(torch.bfloat16)
    optimiser = ZO(model.parameters(), source=CORE, lr=0.05, eps=2**-4, variant="replay")
    assert all(isinstance(slot, TensorSlot) for slot in optimiser.stepper.slots)
    x, y = samples()
    x = x.to(torch.bfloat16)
    losses = [
        optimiser.step(lambda: torch.nn.functional.cross_entropy(model(x).float(), y))
        for _ in range(200)
    ]
    assert np.mean(losses[-20:]) < 0.8 * losses[0]


def _square(model: Any) -> Any:
    x, _ = samples()
    kind = next(model.parameters()).dtype
    return lambda: model(x.to(kind)).float().square().mean()


def test_replay_gives_float64_back_and_leaves_frozen_weights_alone() -> None:
    # A third has no exact float32.
    free, frozen = (torch.full((30,), 1 / 3, dtype=torch.float64) for _ in range(2))
    groups: list[Any] = [{"params": [frozen], "frozen": True}, {"params": [free]}]
    optimiser = ZO(groups, source=CORE, lr=0.1, eps=1e-3, variant="replay")
    version, was = frozen._version, free.clone()
    optimiser.step(lambda: 1.0)
    assert torch.equal(free, was)
    with pytest.raises(ZeroDivisionError):
        optimiser.step(lambda: 1 / 0)
    assert torch.equal(free, was) and torch.equal(frozen, was)
    assert frozen._version == version  # not even the same values were written
    optimiser.step(lambda: float(free.sum()))
    assert not torch.equal(free, was) and torch.equal(frozen, was)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("first", ["model", "optimiser"])
@pytest.mark.parametrize("variant", ["in-place", "replay"])
def test_every_type_goes_on_from_a_state(
    variant: str, first: str, kind: Any, tmp_path: Path
) -> None:
    def make(model: Any) -> ZO:
        values: dict[str, Any] = {"lr": 1e-3, "eps": 2e-2, "variant": variant}
        return ZO(model.parameters(), source=CORE, **values)

    once, parts, later = (small_model().to(kind) for _ in range(3))
    optimiser = make(once)
    for _ in range(12):
        optimiser.step(_square(once))
    optimiser = make(parts)
    for _ in range(6):
        optimiser.step(_square(parts))
    copies = optimiser.state_dict()["zo"].get("copies")
    narrow = kind in (torch.bfloat16, torch.float16) and variant == "replay"
    assert (copies is not None) is narrow
    if narrow:
        assert [part.dtype for part in copies] == [torch.float32] * 4
    torch.save([parts.state_dict(), optimiser.state_dict()], tmp_path / "state.pt")
    weights, state = torch.load(tmp_path / "state.pt")
    with torch.no_grad():
        for parameter in later.parameters():
            parameter.add_(1)  # other weights than those that will be loaded
    optimiser = make(later)
    if first == "model":
        later.load_state_dict(weights)
        optimiser.load_state_dict(state)
    else:
        optimiser.load_state_dict(state)
        later.load_state_dict(weights)
    for _ in range(6):
        optimiser.step(_square(later))
    assert all(map(torch.equal, once.parameters(), later.parameters()))


def test_a_second_copy_of_other_weights_does_not_replace_those_of_the_model() -> None:
    model, other = small_model().to(torch.bfloat16), small_model().to(torch.bfloat16)
    values: dict[str, Any] = {"source": CORE, "lr": 0.1, "eps": 2e-2, "variant": "replay"}
    first, second = (ZO(one.parameters(), **values) for one in (model, other))
    first.step(_square(model))
    second.load_state_dict(first.state_dict())
    second.step(lambda: 1.0)  # an update of nothing
    assert all(map(torch.equal, other.parameters(), small_model().to(torch.bfloat16).parameters()))


@pytest.mark.parametrize(
    "copies", [3, [], [None], [torch.zeros(3)] * 4, [torch.zeros(35, dtype=torch.bfloat16)] * 4]
)
def test_damaged_copies_in_a_state_are_one_line(copies: Any) -> None:
    model = small_model().to(torch.bfloat16)
    optimiser = ZO(model.parameters(), source=CORE, lr=0.1, eps=1e-2, variant="replay")
    state = copy.deepcopy(optimiser.state_dict())
    state["zo"]["copies"] = copies
    with pytest.raises(PezoError, match=r"^a state to load must have copies of \[35, 5, 15, 3\]"):
        optimiser.load_state_dict(state)


def _moved(model: Any) -> None:
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()


@pytest.mark.parametrize("variant", ["in-place", "replay"])
@pytest.mark.parametrize(
    "move",
    [
        lambda model: model.half().float(),
        lambda model: model.double(),
        lambda model: model.bfloat16(),
        _moved,
        lambda model: model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()}),
    ],
)
def test_weights_that_move_or_change_behind_the_optimiser_are_trained(
    move: Any, variant: str
) -> None:
    model, other = small_model(), small_model()
    values: dict[str, Any] = {"source": CORE, "lr": 1e-2, "eps": 2e-2, "variant": variant}
    optimiser = ZO(model.parameters(), **values)
    move(model)
    move(other)
    fresh = copy.deepcopy(other)
    second = ZO(other.parameters(), **values)
    losses = [(optimiser.step(_square(model)), second.step(_square(other))) for _ in range(5)]
    assert not any(map(torch.equal, model.parameters(), fresh.parameters()))
    if variant == "replay" and model[0].weight.dtype == torch.bfloat16:
        # The second copy is still that of float32, of which the weights are the rounding.
        assert losses[0] == pytest.approx(losses[0][::-1], abs=0.02)
        return
    assert all(first == again for first, again in losses)
    assert all(map(torch.equal, model.parameters(), other.parameters()))


def test_weights_that_change_where_it_cannot_be_followed_are_refused(tmp_path: Path) -> None:
    model = small_model()
    optimiser = ZO(model.parameters(), source=CORE, lr=1e-2, eps=1e-2, rule="zoqo")
    same = copy.deepcopy(model.state_dict())
    optimiser.step(_square(model))
    model.load_state_dict(same)
    with pytest.raises(PezoError, match=r"^weights on a grid must change by steps alone, but "):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))
    optimiser = ZO(model.parameters(), source=CORE, lr=1e-2, eps=1e-2, rule="zoqo")
    model.load_state_dict(copy.deepcopy(model.state_dict()))  # the same weights
    optimiser.step(_square(model))
    for variant in ("in-place", "replay"):
        optimiser = ZO(model.parameters(), source=CORE, lr=1e-2, eps=1e-2, variant=variant)
        model.load_state_dict(same)  # before the log begins
        with optimiser.log(tmp_path / variant):
            optimiser.step(_square(model))
            optimiser.step(_square(model))
            model.load_state_dict(same)
            with pytest.raises(PezoError, match=r"^a training log must hold all that changes the"):
                optimiser.step(lambda: pytest.fail("a loss was asked for"))
    optimiser = ZO(model.parameters(), source=CORE, lr=1e-2, eps=1e-2)
    model[0].weight.data = torch.zeros(3)
    with pytest.raises(PezoError, match=r"^parameter 0.0 must keep its 35 weights, not have 3; "):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))


def test_parameters_that_overlap_are_refused() -> None:
    row = torch.zeros(6)
    with pytest.raises(PezoError, match=r"^parameters must not share memory, but 0.0 and 0.1 "):
        ZO([row[:4], row[2:]], source=CORE, lr=0.1, eps=1e-3)
    ZO([row[:3], row[3:]], source=CORE, lr=0.1, eps=1e-3)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(3, 4).t(), r"a parameter of shape \(4, 3\) must be contiguous"),
        (torch.zeros(3, dtype=torch.int64), "a parameter must be of a floating-point type"),
    ],
)
def test_wrong_parameters_are_refused(tensor: Any, message: str) -> None:
    with pytest.raises(PezoError, match=f"^{message}"):
        ZO([tensor], source=CORE, lr=0.1, eps=1e-3)


def test_cct_2_has_the_published_size() -> None:
    assert cct.parameters(cct.cct2()) == 283_723
    model = cct.cct2(channels=1, side=8)
    assert model(torch.zeros(3, 1, 8, 8)).shape == (3, 10)
    assert torch.equal(cct.cct2(seed=1).head.weight, cct.cct2(seed=1).head.weight)


def test_paths_train_with_torch(tmp_path: Path) -> None:
    request = paths.Request(steps=30, method="mezo", lora=2, log=tmp_path / "a.log", seeds=(0, 1))
    runs = paths.run("torch", request, say=print)
    assert [run.parameters for run in runs] == [2 * (64 + 32) + 2 * (32 + 10)] * 2
    assert (tmp_path / "a-0.log").exists() and (tmp_path / "a-1.log").exists()
    (run,) = paths.run("torch", paths.Request(steps=2, model="cct-2", batch=4), say=print)
    assert run.details["parameters of the model"] == run.parameters > 250_000
    (run,) = paths.run("torch", paths.Request(steps=150, method="bp"), say=print)
    assert run.accuracy > 0.85


@pytest.mark.parametrize("drop", ["zo", "param_groups", "lr", "state"])
def test_a_state_of_another_optimiser_changes_nothing(drop: str) -> None:
    def make(source: Any = CORE, rate: float = 0.1) -> ZO:
        return ZO(small_model().parameters(), source=source, lr=rate, eps=0.1)

    optimiser = make()
    was = copy.deepcopy(optimiser.state_dict())
    with pytest.raises(PezoError, match=r"^a state to load must have this optimiser's source$"):
        optimiser.load_state_dict(make(POOL, rate=0.3).state_dict())
    state = copy.deepcopy(make(rate=0.3).state_dict())
    for part in (state, *state["param_groups"]):
        part.pop(drop, None)
    with pytest.raises(PezoError, match=r"^a state to load must "):
        optimiser.load_state_dict(state)
    assert optimiser.state_dict() == was
    with pytest.raises(PezoError, match=r"^lr must be a finite number"):
        make(rate=float("nan"))
    optimiser.param_groups[0]["lr"] = float("inf")
    with pytest.raises(PezoError, match=r"^lr must be a finite number"):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lr": "0.1"}, "lr must be a finite number, 0 or more, not '0.1'; give e.g. 1e-4$"),
        ({"eps": None}, "eps must be a positive number, not None; "),
        ({"queries": 1.5}, "queries must be an integer from 1 to 65536, not 1.5; use 2$"),
        ({"seed": 1.5}, "seed must be an integer from 0 to 4294967295, not 1.5; use 2$"),
        ({"source": None}, "source must be gaussian, .*, not None; give e.g. "),
        ({"bits": 2.5}, "bits must be an integer from 2 to 16, not 2.5; use 2$"),
        ({"rule": "adam"}, "rule must be sgd, sign or zoqo, not 'adam'; choose one of them$"),
        ({"strength": 9}, "strength must be an integer from 0 to 3, not 9; use 3; "),
        ({"frozen": True}, "an optimiser must have a parameter group that is not frozen, or no "),
    ],
)
def test_wrong_values_are_refused(change: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"source": CORE, "lr": 0.1, "eps": 1e-3} | change
    with pytest.raises(PezoError, match=f"^{message}"):
        ZO(small_model().parameters(), **values)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "params must be tensors or parameter groups: .*empty.*; give e.g. model.named_par"),
        (torch.zeros(3), "params must be tensors or parameter groups: .*Tensor.*; give e.g. "),
        ([3], "params must be tensors or parameter groups: .*int.*; give e.g. "),
        (None, "params must be tensors or parameter groups: .*None.*; give e.g. "),
        (
            [{"params": [torch.zeros(3)], "strenght": 1}],
            "a parameter group must not have the key 'strenght'; did you mean strength\\?$",
        ),
        (
            [{"params": [torch.zeros(3)], "weight_decay": 1}],
            "a parameter group must not have the key 'weight_decay'; the keys are params, lr, ",
        ),
        ([{"lr": 0.1}], "a parameter group must have the key 'params', which is missing; add it$"),
        ([{"params": [torch.zeros(3)], "lr": "x"}], "lr must be a finite number, .* not 'x'"),
    ],
)
def test_wrong_groups_are_refused(params: Any, message: str) -> None:
    with pytest.raises(PezoError, match=f"^{message}") as caught:
        ZO(params, source=CORE, lr=0.1, eps=1e-3)
    assert "\n" not in str(caught.value)


def test_labels_and_first_rates_of_groups_are_the_callers() -> None:
    group = {"params": [torch.zeros(3)], "name": "head", "initial_lr": 0.2}
    assert ZO([group], source=CORE, lr=0.1, eps=1e-3).param_groups[0]["name"] == "head"


@pytest.mark.parametrize("steps", [0, 2])
def test_groups_cannot_be_added_later(steps: int) -> None:
    model, added = small_model(), torch.zeros(4)
    optimiser = ZO(model.parameters(), source=CORE, lr=0.1, eps=1e-3)
    for _ in range(steps):
        optimiser.step(loss_of(model))
    with pytest.raises(PezoError, match=r"^a parameter group must be given when the optimiser is"):
        optimiser.add_param_group({"params": [added]})
    assert len(optimiser.param_groups) == 1
    optimiser.step(loss_of(model))
    optimiser.param_groups.append({"params": [added], "lr": 0.1})
    with pytest.raises(PezoError, match=r"^an optimiser must keep its 1 parameter groups, not "):
        optimiser.step(loss_of(model))


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda: torch.ones(2), "a loss must be one number, not a value of type Tensor; return"),
        (lambda: None, "a loss must be one number, not None; return the mean of the batch$"),
        (None, "a step must get a function that returns the loss, not None; write e.g. "),
    ],
)
def test_what_is_no_loss_is_refused(loss: Any, message: str) -> None:
    optimiser = ZO(small_model().parameters(), source=CORE, lr=0.1, eps=1e-3)
    with pytest.raises(PezoError, match=f"^{message}"):
        optimiser.step(loss)


@pytest.mark.parametrize("state", [None, 3, "a", [], {"zo": 3, "param_groups": []}])
def test_what_is_no_state_is_refused(state: Any) -> None:
    optimiser = ZO(small_model().parameters(), source=CORE, lr=0.1, eps=1e-3)
    with pytest.raises(PezoError, match=r"^a state to load must "):
        optimiser.load_state_dict(state)
    good = copy.deepcopy(optimiser.state_dict())
    for change in ({"zo": 3}, {"state": None}):
        with pytest.raises(PezoError, match=r"^a state to load must "):
            optimiser.load_state_dict(good | change)
    good["param_groups"][0]["params"] = 3
    with pytest.raises(PezoError, match=r"^a state to load must be of this optimiser: "):
        optimiser.load_state_dict(good)
