"""What lasts is not looked through for garbage, and garbage goes later as it always does."""

import gc
import weakref

import pytest
from helpers.children import run

from nbgrad.compiler.kernel import undisturbed
from nbgrad.runtime.gc_freeze import into_oldest_generation, uncollected


class _Ring:
    def __init__(self):
        self.itself = self


@pytest.fixture(autouse=True)
def _collector():
    was = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was else gc.disable)()


def test_nothing_is_collected_meanwhile_and_everything_later():
    gc.enable()
    with into_oldest_generation():
        assert not gc.isenabled()
        ring = weakref.ref(_Ring())
        assert ring() is not None
    assert gc.isenabled() and gc.get_freeze_count() == 0
    gc.collect()
    assert ring() is None


def test_an_exception_leaves_the_collector_on():
    gc.enable()
    with pytest.raises(KeyboardInterrupt), into_oldest_generation():
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off():
    gc.disable()
    with into_oldest_generation():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_what_is_frozen_stays_frozen():
    gc.enable()
    gc.freeze()
    count = gc.get_freeze_count()
    with into_oldest_generation():
        pass
    assert 0 < gc.get_freeze_count() <= count


def test_the_import_leaves_the_collector_on():
    session = run("import gc; result = gc.isenabled(), gc.get_freeze_count()")
    assert session.result == [True, 0]


@pytest.mark.parametrize("period", [uncollected, into_oldest_generation, undisturbed])
@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_afterwards_as_before(period, collects):
    (gc.enable if collects else gc.disable)()
    with period(), period():
        assert not gc.isenabled()
    assert gc.isenabled() == collects
    with pytest.raises(ZeroDivisionError), period():
        raise ZeroDivisionError
    assert gc.isenabled() == collects
