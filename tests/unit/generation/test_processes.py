"""The executor ``processes``: one that dies is replaced, and what it was making is made again."""

from __future__ import annotations

import dying
import fakes
import pytest

from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError, GenerationError
from pytest_t2i.generation import processes
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.generation.processes import Processes, auto, load
from pytest_t2i.protocols import ExecutorOptions, LoadOptions

REQUESTS = [Request("a photo of a nurse", seed) for seed in range(12)]


def options(factory, source="2", device="auto", batch=2, file=""):
    notes: list[str] = []
    told = LoadOptions(source=str(file), device=device)
    made = ExecutorOptions(
        "m", lambda: factory(told), lambda: (factory, told), batch, notes.append, source
    )
    return made, notes


@pytest.fixture
def running():
    begun = []

    def run(factory, **more):
        given, notes = options(factory, **more)
        begun.append(load(given))
        return begun[-1], notes

    yield run
    for executor in begun:
        executor.close()


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [1, 2])
def test_what_a_dead_process_was_making_is_made_again(running, tmp_path, deaths):
    tokens = tmp_path / "tokens"
    tokens.write_text("x" * deaths)
    executor, notes = running(dying.dying, file=tokens)
    asked = [*REQUESTS[:4], Request("deadly", 99), *REQUESTS[4:]]
    given = [request for request, _ in executor.run(iter(asked))]
    assert sorted(given, key=repr) == sorted(asked, key=repr)
    assert notes == ["a process ended unexpectedly: another process makes its batch again"]
    assert tokens.read_text() == ""
    # And goes on with the next plan.
    assert len(list(executor.run(iter(REQUESTS)))) == 12


@pytest.mark.slow
def test_a_batch_that_ends_three_processes_is_named_and_the_rest_is_kept(running, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("x" * 50)
    executor, _ = running(dying.dying, file=tokens)
    given: list[Request] = []
    told = "The image of 'deadly' with seed 99 was begun 3 times, and each time the process ended"
    with pytest.raises(GenerationError, match=told):
        given.extend(r for r, _ in executor.run(iter([*REQUESTS, Request("deadly", 99)])))
    assert len(tokens.read_text()) == 47
    assert set(given) == set(REQUESTS)


@pytest.mark.slow
def test_a_process_loads_torch_only_for_a_model_that_needs_it(running):
    executor, _ = running(dying.naming_libraries)
    with pytest.raises(GenerationError, match=r"torch: False, threads: \d"):
        list(executor.run(iter(REQUESTS)))


@pytest.mark.slow
def test_a_factory_that_only_this_process_knows_is_told_as_such(running):
    executor, _ = running(dying.Gone())
    with pytest.raises(
        GenerationError, match="model 'm' cannot be loaded in another process: No m"
    ):
        list(executor.run(iter(REQUESTS)))


@pytest.mark.slow
def test_one_that_died_while_it_had_nothing_to_do_is_replaced(running):
    executor, notes = running(fakes.fair)
    assert len(list(executor.run(iter(REQUESTS)))) == 12
    for worker in executor._workers:
        for process in worker.pool._processes.values():
            process.kill()
            process.join()
        worker.pool._executor_manager_thread.join()  # it has noticed
    assert len(list(executor.run(iter(REQUESTS)))) == 12
    assert len(executor._workers) == 2
    assert len(notes) <= 2


@pytest.mark.slow
def test_each_process_has_a_device_of_its_own(running, monkeypatch):
    monkeypatch.setattr(processes, "devices", lambda asked: ["cuda:0", "cuda:1"])
    executor, _ = running(dying.on_device, source="3")
    assert executor.devices == ["cuda:0", "cuda:1", "cuda:0"]
    on = {generated.refusal for _, generated in executor.run(iter(REQUESTS * 1))}
    assert on == {"cuda:0", "cuda:1"}


def test_a_model_that_cannot_be_pickled_is_refused_at_once():
    def local(told):
        return fakes.fair(told)

    given, _ = options(local)
    with pytest.raises(ConfigurationError, match="model 'm' cannot be loaded in another process"):
        load(given)


@pytest.mark.parametrize(
    ("devices", "factory", "kind"),
    [
        (["cpu"], "ours", InProcess),
        (["cuda:0"], "ours", InProcess),
        (["cuda:0", "cuda:1"], "ours", Processes),
        (["cuda:0", "cuda:1"], "theirs", InProcess),
    ],
)
def test_auto_takes_processes_for_several_gpus_alone(devices, factory, kind, monkeypatch):
    from pytest_t2i.adapters.models import folder

    monkeypatch.setattr(processes, "devices", lambda asked: devices)
    made, _ = options({"ours": folder.load, "theirs": fakes.fair}[factory], source="")
    chosen = auto(made)
    assert isinstance(chosen, kind)
    assert getattr(chosen, "devices", devices) == devices
    with pytest.raises(ConfigurationError, match="expected auto, got 'auto:2'"):
        auto(options(fakes.fair, source="2")[0])


def test_auto_goes_on_alone_where_no_other_process_can_load_the_model(monkeypatch):
    def local(told):
        return fakes.fair(told)

    monkeypatch.setattr(processes, "devices", lambda asked: ["cuda:0", "cuda:1"])
    local.__module__ = "pytest_t2i.adapters.pretended"
    given, notes = options(local, source="")
    assert isinstance(auto(given), InProcess)
    assert "only one GPU makes the images: " in notes[0]
