"""First values of widgets: they reach the browser even if the first run is superseded before it is sent."""

import pytest
from streamlit.testing.v1 import AppTest

from entail.ui.shared import link


def numbers() -> None:
    import streamlit as st

    from entail.ui.shared.link import init_value

    init_value("k", 60)
    st.number_input("Neighbours", min_value=1, max_value=1000, key="k")


def test_a_first_value_is_sent_again_in_the_first_seconds() -> None:
    app = AppTest.from_function(numbers).run()
    assert app.run().number_input(key="k").proto.set_value
    assert app.number_input(key="k").value == 60


def test_what_an_author_enters_meanwhile_stays() -> None:
    app = AppTest.from_function(numbers).run()
    app.number_input(key="k").set_value(7).run()
    assert app.run().number_input(key="k").value == 7


def test_later_runs_leave_the_widget_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    app = AppTest.from_function(numbers).run()
    monkeypatch.setattr(link, "UNSENT", 0)
    assert not app.run().number_input(key="k").proto.set_value
