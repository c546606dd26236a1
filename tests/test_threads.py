"""Threads of a batch: what comes out is what one thread gives, whatever goes wrong."""

import copy
import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from env_play import SMALL, FirstLegal, last_legal, legal_choices, make_vec, same
from gymnasium.error import ResetNeeded

from agents.random import RandomAgent
from tricktable_env.envs import threads
from tricktable_env.envs.episodes import OpponentError
from tricktable_env.envs.threads import Threads
from tricktable_env.game import IllegalActionError
from tricktable_env.interop.sb3 import make_vec_env
from tricktable_env.jit import kernel
from tricktable_env.parts import ALONE, leave, next_part
from tricktable_env.tableau import batch

ROWS = 11


@pytest.fixture(autouse=True)
def a_thread_for_two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 2)


@pytest.mark.parametrize(
    "options",
    [
        {"opponent": "self"},
        {"opponent": "self", "observation": "dict", "full_information": True},
        {"opponent": "random", "seat": "alternate"},
        {"opponent": "greedy", "observation": "dict"},
        {"opponent": last_legal},
        {"opponent": FirstLegal(), "on_illegal": "raise"},
        {"opponent": "self", "on_illegal": "raise"},
    ],
    ids=str,
)
@pytest.mark.parametrize("number", [2, 5, 64])
def test_any_number_of_threads_gives_the_same(number: int, options: dict[str, Any]) -> None:
    one, many = (
        make_vec(ROWS, **SMALL, **options),
        make_vec(ROWS, threads=number, **SMALL, **options),
    )
    rng, ended = np.random.default_rng(0), 0
    given, others = one.reset(seed=5), many.reset(seed=5)
    for step in range(40):
        assert same(given, others)
        actions = legal_choices(given[-1]["action_mask"], rng)
        if step % 7 == 3 and "on_illegal" not in options:
            actions[step % ROWS] = given[-1]["action_mask"][step % ROWS].argmin()
        given, others = one.step(actions), many.step(actions)
        ended += given[2].sum()
    assert ended > ROWS
    assert same(one.position(), many.position())


@pytest.mark.parametrize("opponent", ["self", "random"])
@pytest.mark.parametrize("row", [0, 4, 10])
def test_what_one_thread_refuses_changes_no_row_of_another(opponent: str, row: int) -> None:
    env = make_vec(ROWS, opponent=opponent, seat="caller", on_illegal="raise", threads=3)
    _, infos = env.reset(seed=0)
    actions, before = infos["action_mask"].argmax(1), env.episodes.states.copy()
    actions[row:] = 3  # cards before the call; the first row of them is named
    with pytest.raises(IllegalActionError, match=f"5S in row {row}; legal: trump S"):
        env.step(actions)
    assert (env.episodes.states == before).all()
    env.step(infos["action_mask"].argmax(1))


@kernel
def _illegal_on_odd_streams(view: Any, mask: Any, words: Any) -> int:
    return 60 if words[0] & np.uint64(1) else int(mask.argmax())


class OftenIllegal(RandomAgent):
    """Breaks the rules in some rows."""

    @property
    def kernel(self) -> Any:
        return _illegal_on_odd_streams


def test_an_opponent_that_breaks_the_rules_in_one_thread_leaves_every_row_as_it_was() -> None:
    def fails(number: int) -> str:
        env = make_vec(ROWS, opponent="self", threads=number)
        env = make_vec(ROWS, opponent=OftenIllegal(env.game), seat="caller", threads=number)
        _, infos = env.reset(seed=3)
        actions = infos["action_mask"].argmax(1)
        infos = env.step(actions)[-1]  # the call; the caller leads
        before = copy.deepcopy((env.episodes.states, env.episodes.table, env.episodes.owed))
        with pytest.raises(OpponentError) as error:
            env.step(infos["action_mask"].argmax(1))
        now = env.episodes.states, env.episodes.table, env.episodes.owed
        assert same(now, before)
        return str(error.value)

    assert fails(1) == fails(4)


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("opponent", ["self", "random", "greedy"])
def test_an_interrupted_step_is_taken_back_or_asks_for_a_reset(opponent: str, number: int) -> None:
    env = make_vec(ROWS, opponent=opponent, seat="caller", threads=number)
    actions = env.reset(seed=0)[1]["action_mask"].argmax(1)
    before = env.episodes.states.copy()

    def interrupted(sight: Any, last: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        env.episodes.step(actions, True, interrupted)
    if opponent == "self":
        with pytest.raises(ResetNeeded):
            env.step(actions)
        env.reset()
    else:
        assert (env.episodes.states == before).all()
        twin = make_vec(ROWS, opponent=opponent, seat="caller")
        twin.reset(seed=0)
        assert same(env.step(actions), twin.step(actions))


def test_opponents_in_python_are_asked_from_the_calling_thread_alone() -> None:
    askers = set()

    def opponent(observation: Any, info: dict[str, Any]) -> int:
        askers.add(threading.get_ident())
        return last_legal(observation, info)

    env = make_vec(ROWS, opponent=opponent, threads=4)
    _, infos = env.reset(seed=0)
    for _ in range(5):
        infos = env.step(infos["action_mask"].argmax(1))[-1]
    assert askers == {threading.get_ident()}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_copy_and_a_fork_start_threads_of_their_own() -> None:
    env, twin = make_vec(ROWS, opponent="self", threads=2), make_vec(ROWS, opponent="self")
    _, infos = env.reset(seed=0)
    twin.reset(seed=0)
    for _ in range(3):
        actions = infos["action_mask"].argmax(1)
        infos = env.step(actions)[-1]
        assert same(infos, twin.step(actions)[-1])
    actions = infos["action_mask"].argmax(1)
    expected = twin.step(actions)
    assert same(copy.deepcopy(env).step(actions), expected)
    if hasattr(os, "fork"):
        child = _forked(lambda: same(env.step(actions), expected))
        assert os.waitpid(child, 0)[1] == 0
    assert same(env.step(actions), expected)


def _forked(holds: Any) -> int:
    """Starts a process that ends with 0 if something holds, within a minute; its number."""
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(60)
        os._exit(0 if holds() else 1)
    return child


@kernel
def take_rows(takers: np.ndarray, shared: np.ndarray, me: int) -> int:
    """Notes who took each row, and how often: thread 0 as 1, thread 1 as 100, ..."""
    start, end = next_part(shared, me, -1, takers.shape[0])
    while start < end:
        for row in range(start, end):
            takers[row] += 100 ** max(me, 0)
        start, end = next_part(shared, me, end, takers.shape[0])
    return leave(shared, 1 << (me + 1))


def taken(number: int, rows: int, meanwhile: Callable[[], None] = lambda: None) -> tuple[Any, int]:
    takers = np.zeros(rows, np.int64)
    found = Threads(number).run(take_rows, (takers,), rows, meanwhile)
    return takers, found


@pytest.mark.parametrize("rows", [1, 3, 4, 64, 1000, 12_345])
@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_every_row_is_taken_once(number: int, rows: int) -> None:
    for _ in range(20):
        takers, found = taken(number, rows)
        who = {thread for thread in range(number) if 100**thread in takers}
        assert set(takers.tolist()) == {100**thread for thread in who}
        assert all(found & 1 << (thread + 1) for thread in who - {0})


def test_while_the_calling_thread_is_busy_others_do_the_work() -> None:
    takers, here, done = np.zeros(2_000_000, np.int64), threading.Event(), []

    def work(takers: Any, shared: Any, me: int) -> int:
        if me > 0:
            here.set()
        elif me < 0:  # works until another one does
            here.wait(60)
        return take_rows(takers, shared, me)

    def busy() -> None:
        until = time.monotonic() + 60
        while not takers.all() and time.monotonic() < until:
            time.sleep(0.01)
        done.append(takers.all())

    Threads(2).run(work, (takers,), len(takers), busy)
    assert done == [True]
    assert set(takers.tolist()) <= {1, 100}


def test_a_thread_that_comes_late_finds_nothing_and_keeps_nobody_waiting() -> None:
    held = threading.Event()

    def work(takers: Any, shared: Any, me: int) -> int:
        if me > 0:
            held.wait(60)
        return take_rows(takers, shared, me)

    takers = np.zeros(1000, np.int64)
    crew = Threads(2)
    crew.run(work, (takers,), 1000, lambda: None)
    assert (takers == 1).all()
    held.set()
    crew.run(take_rows, (takers,), 1000, lambda: None)
    assert set((takers - 1).tolist()) <= {1, 100}


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_an_interrupt_is_told_when_all_is_done(number: int, kind: type[BaseException]) -> None:
    takers = np.zeros(5000, np.int64)

    def interrupted() -> None:
        raise kind

    with pytest.raises(kind):
        Threads(number).run(take_rows, (takers,), 5000, interrupted)
    expected = {0} if number == 1 else {100**thread for thread in range(number)}
    assert set(takers.tolist()) <= expected


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_is_raised_when_nobody_is_at_work_any_more(failing: int) -> None:
    done = []

    def work(shared: Any, me: int) -> int:
        if max(me, 0) == failing:
            time.sleep(0.05)
            raise ZeroDivisionError
        time.sleep(0.1)
        done.append(me)
        return 0

    with pytest.raises(ZeroDivisionError):  # the other thread is there before the end
        Threads(2).run(work, (), 9, lambda: time.sleep(0.05))
    assert done


def test_a_step_that_ends_before_it_came_to_all_rows_leaves_every_row_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = make_vec(ROWS, opponent="random", threads=2)
    _, infos = env.reset(seed=0)
    for _ in range(3):
        infos = env.step(infos["action_mask"].argmax(1))[-1]
    actions, play = infos["action_mask"].argmax(1), env.game.play
    expected = copy.deepcopy(env).step(actions)

    def timed_out(states: Any, rows: Any, *others: Any) -> int:
        """As where a handler of signals raises when the kernel returns, and others did little."""
        if others[-1] == -1:
            play(states, rows[:5], *others[:-2], ALONE, 0)
            raise TimeoutError
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(batch, "play_rows", timed_out)
        with pytest.raises(TimeoutError):
            env.step(actions)
    assert same(env.step(actions), expected)


def test_a_thread_is_started_only_where_there_are_rows_for_it() -> None:
    before = threading.active_count()
    env = make_vec(4, opponent="self", threads=10**9)
    _, infos = env.reset(seed=0)
    assert threading.active_count() == before + 1  # for four rows there are two
    env.step(infos["action_mask"].argmax(1))
    assert threading.active_count() == before + 1


def test_work_does_not_pile_up_before_a_thread_that_does_not_come() -> None:
    held, crew = threading.Event(), Threads(2)

    def work(takers: Any, shared: Any, me: int) -> int:
        if me > 0:
            held.wait(60)
        return take_rows(takers, shared, me)

    given = []
    for _ in range(5):
        takers = np.zeros(1000, np.int64)
        given.append(weakref.ref(takers))
        crew.run(work, (takers,), 1000, lambda: None)
    del takers
    gc.collect()
    assert sum(ref() is not None for ref in given) <= 2  # it is at one, and another one waits
    held.set()


def test_sb3s_environment_takes_threads_too() -> None:
    envs = [
        make_vec_env("TrickTable/Tableau-v0", ROWS, seed=1, threads=number) for number in (1, 3)
    ]
    assert same(*[env.reset() for env in envs])
    for _ in range(30):
        actions = np.stack(envs[0].env_method("action_masks")).argmax(1)
        assert same(*[list(env.step(actions)) for env in envs])


@pytest.mark.parametrize("number", [0, -1, 1.0, True, "2", None])
def test_what_is_no_number_of_threads_is_refused(number: Any) -> None:
    with pytest.raises(ValueError, match=f"threads={number!r}; an integer of at least 1"):
        make_vec(2, threads=number)
