"""Policies: what is saved is what plays, always legal, and nothing but a policy loads."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from agents.network import Layout, SuitNetwork
from agents.policy import NetworkAgent, PolicyAgent, PolicyFileError, load_policy, save_policy
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError, decision_streams, make_agent
from tricktable_env.registry import make_game
from tricktable_lab.match import play_match


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tableau")


@pytest.fixture(scope="module")
def network(game: Game) -> SuitNetwork:
    torch.manual_seed(3)
    made = SuitNetwork(Layout.of(game), width=16, depth=2)
    with torch.no_grad():
        made.suit.weight.mul_(30)
    return made


@pytest.fixture
def folder(game: Game, network: SuitNetwork, tmp_path: Path) -> Path:
    save_policy(network, game, tmp_path, {"seed": 3})
    return tmp_path


def seen(game: Game, rows: int, plies: int) -> tuple[Any, Any, Any]:
    """Views, masks and streams of some positions."""
    every = np.arange(rows)
    states = game.new(np.arange(rows, dtype=np.uint64))
    game.deal(states, every)
    for _ in range(plies):
        views = game.views(states, every, game.players(states, every))
        game.step(states, every, game.masks(views).argmax(1))
    views = game.views(states, every, game.players(states, every))
    keys = np.full(rows, 7, np.uint64)
    return views, game.masks(views), decision_streams(keys, every, every, every)


def test_what_is_loaded_is_what_was_saved(game: Game, network: SuitNetwork, folder: Path) -> None:
    for path in (folder, folder / "policy.safetensors"):
        loaded = load_policy(path, game)
        assert not loaded.training
        for name, tensor in network.state_dict().items():
            assert torch.equal(loaded.state_dict()[name], tensor)
    assert {file.name for file in folder.iterdir()} == {"policy.json", "policy.safetensors"}


def test_a_spec_names_it_by_its_path(game: Game, network: SuitNetwork, folder: Path) -> None:
    views, masks, streams = seen(game, 40, 9)
    expected = NetworkAgent(game, network).act_batch(views, masks, streams)
    agent: Any = make_agent(f"policy:{folder}", game)
    assert isinstance(agent, PolicyAgent)
    assert not agent.sample
    np.testing.assert_array_equal(agent.act_batch(views, masks, streams), expected)
    assert make_agent(f"policy:{folder},sample=true", game).sample  # type: ignore[attr-defined]


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("plies", [0, 1, 30])
def test_alone_or_in_a_batch_it_chooses_the_same(
    game: Game, network: SuitNetwork, sample: bool, plies: int
) -> None:
    views, masks, streams = seen(game, 25, plies)
    agent = NetworkAgent(game, network, sample)
    together = agent.act_batch(views, masks, streams)
    again = decision_streams(np.full(25, 7, np.uint64), *[np.arange(25)] * 3)
    alone = [agent.act(views[i], masks[i], again[i]) for i in range(25)]
    assert together.tolist() == alone
    assert masks[np.arange(25), together].all()


def test_its_likeliest_action_is_the_networks_argmax(game: Game, network: SuitNetwork) -> None:
    views, masks, streams = seen(game, 60, 12)
    observations, _ = game.encode(views)
    logits, _ = network(torch.from_numpy(observations))
    chosen = NetworkAgent(game, network).act_batch(views, masks, streams)
    assert chosen.tolist() == logits.argmax(1).tolist()
    assert len(set(chosen.tolist())) > 5


def test_samples_follow_the_networks_odds(game: Game, network: SuitNetwork) -> None:
    views, masks, _ = seen(game, 1, 12)
    observations, _ = game.encode(views)
    odds = torch.softmax(network(torch.from_numpy(observations))[0].double(), 1)[0].detach().numpy()
    n = 4000
    streams = decision_streams(np.full(n, 5, np.uint64), *[np.arange(n)] * 3)
    agent = NetworkAgent(game, network, sample=True)
    drawn = agent.act_batch(views.repeat(n, 0), masks.repeat(n, 0), streams)
    shares = np.bincount(drawn, minlength=len(odds)) / n
    assert (shares[masks[0] == 0] == 0).all()
    assert np.abs(shares - odds).max() < 4 * 0.5 / np.sqrt(n)
    assert (shares > 0.02).sum() > 1


def test_later_training_does_not_change_the_agent(game: Game, network: SuitNetwork) -> None:
    changing = SuitNetwork(Layout.of(game), width=16, depth=2)
    changing.load_state_dict(network.state_dict())
    changing.dtype = torch.bfloat16
    agent = NetworkAgent(game, changing)
    views, masks, streams = seen(game, 30, 9)
    before = agent.act_batch(views, masks, streams)
    with torch.no_grad():
        changing.suit.weight.neg_()
    np.testing.assert_array_equal(agent.act_batch(views, masks, streams), before)
    assert agent.network.dtype == torch.float32
    assert changing.dtype == torch.bfloat16


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"suits": 3, "ranks": 9, "hand": 5, "piles": 2},
        {"suits": 1, "ranks": 8, "hand": 4, "piles": 0},
        {"trump": "none", "rounds_to_win": 2},
    ],
)
@pytest.mark.parametrize("sample", [False, True])
def test_it_plays_every_deck_and_never_an_illegal_action(
    folder: Path, rules: dict[str, Any], sample: bool
) -> None:
    game = make_game("tableau", **rules)
    result = play_match(game, f"policy:{folder},sample={sample}", "random", deals=20, seed=1)
    assert result.illegal == 0
    assert result.games == 40


# -- files that are no policy ----------------------------------------------------------------
def refused(game: Game, path: Path, *words: str) -> None:
    """Loading is refused in one line with these words, also by spec."""
    with pytest.raises(PolicyFileError) as caught:
        load_policy(path, game)
    message = str(caught.value)
    assert "\n" not in message
    for word in (str(path), *words):
        assert word in message
    with pytest.raises(AgentSpecError, match="policy"):
        make_agent(f"policy:{path}", game)


def settings_with(folder: Path, **changed: Any) -> None:
    file = folder / "policy.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))


def test_no_such_policy(game: Game, tmp_path: Path) -> None:
    refused(game, tmp_path / "nothing.safetensors", "No such file")
    refused(game, tmp_path, "policy.safetensors", "No such file")
    (tmp_path / "model.zip").touch()
    refused(game, tmp_path / "model.zip", "neither a run folder nor a .safetensors file")


def test_settings_that_are_no_json(game: Game, folder: Path) -> None:
    for text in ("{", "[1]", "\x00", ""):
        (folder / "policy.json").write_text(text)
        refused(game, folder, "policy.json", "JSON")
    (folder / "policy.json").write_bytes(b"\xff\xfe\xff")
    refused(game, folder, "policy.json", "JSON")


@pytest.mark.parametrize(
    ("key", "value"),
    [("game", "honors"), ("layout", "0123"), ("format", 2), ("format", None), ("game", None)],
)
def test_settings_for_something_else(game: Game, folder: Path, key: str, value: Any) -> None:
    settings_with(folder, **{key: value})
    refused(game, folder, "policy.json", key, repr(value))


@pytest.mark.parametrize("value", [0, -1, 10**9, 1.5, "16", None, True])
@pytest.mark.parametrize("key", ["width", "depth"])
def test_sizes_that_make_no_sense(game: Game, folder: Path, key: str, value: Any) -> None:
    settings_with(folder, **{key: value})
    refused(game, folder, "policy.json", key, repr(value))


def test_weights_of_another_size(game: Game, folder: Path) -> None:
    settings_with(folder, width=32)
    refused(game, folder, "policy.safetensors", "not the weights of this network")


def test_weights_cut_short(game: Game, folder: Path) -> None:
    file = folder / "policy.safetensors"
    whole = file.read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        refused(game, folder, "policy.safetensors")


def test_a_tensor_missing_or_too_many(game: Game, folder: Path) -> None:
    file = folder / "policy.safetensors"
    tensors = load_file(file)
    fewer = {name: tensor for name, tensor in tensors.items() if name != "suit.bias"}
    save_file(fewer, file)
    refused(game, folder, "policy.safetensors", "suit.bias")
    save_file(tensors | {"more": torch.zeros(1)}, file)
    refused(game, folder, "policy.safetensors", "more")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(game: Game, folder: Path, value: float) -> None:
    file = folder / "policy.safetensors"
    tensors = load_file(file)
    tensors["suit.bias"][0] = value
    save_file(tensors, file)
    refused(game, folder, "policy.safetensors", "suit.bias", "finite")


class Trap:
    """Makes a mark when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.touch, (self.mark,)  # type: ignore[return-value]


def test_a_pickle_is_refused_and_its_code_not_run(game: Game, folder: Path) -> None:
    mark = folder / "code-was-run"
    for content in (pickle.dumps(Trap(mark)), pickle.dumps({"suit.bias": Trap(mark)})):
        (folder / "policy.safetensors").write_bytes(content)
        refused(game, folder, "policy.safetensors")
    torch.save({"trap": Trap(mark)}, folder / "policy.safetensors")
    refused(game, folder, "policy.safetensors")
    assert not mark.exists()
    pickle.loads(pickle.dumps(Trap(mark)))
    assert mark.exists(), "the trap does not work, so this test proves nothing"


def test_a_failed_write_leaves_the_old_policy(
    game: Game, network: SuitNetwork, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    for whole, failing in enumerate(("policy.json", "policy.safetensors")):
        written: list[int] = []

        def sync(file: int, whole: int = whole, written: list[int] = written) -> None:
            written.append(file)
            if len(written) > whole:
                os.ftruncate(file, 10)
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", sync)
        with pytest.raises(OSError, match=f"No space.*{failing}"):
            save_policy(network, game, folder, {"seed": 4})
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_policy_without_its_settings_is_refused(game: Game, folder: Path) -> None:
    (folder / "policy.json").unlink()
    refused(game, folder, "policy.json", "No such file")
