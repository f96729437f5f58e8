"""`python -m benchmarks.planning`: it measures the planners, and says which goals they miss."""

import pytest

from benchmarks import planning

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(("seconds", "code"), [(4.0, 0), (6.0, 1)])
def test_the_speeds_are_measured(monkeypatch, capsys, seconds, code):
    """PIBT and the batch expert give figures, here in small worlds; a goal that is missed gives exit code 1."""
    world = planning.make_world
    monkeypatch.setattr(planning, "make_world", lambda size, agents, steps=None: world(6, 2, steps))
    monkeypatch.setattr(planning, "_WORLDS", 2)
    step, plan = planning.time_pibt()
    assert 0 <= step < plan
    assert planning.count_labels() > 0
    assert 0 < planning.time_first_plan() < planning._MOST_SECONDS
    figures = {"time_pibt": (0.0001, 0.02), "count_labels": 5e6, "time_first_plan": seconds}
    for name, figure in figures.items():
        monkeypatch.setattr(planning, name, lambda figure=figure: figure)
    assert planning.main() == code
    assert ("missed" in capsys.readouterr().out) == bool(code)
