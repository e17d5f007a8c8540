"""Author of a session whose name is typed."""

import pytest
from streamlit.testing.v1 import AppTest

from entail.ui.frame.author import FIELD
from entail.ui.shared.resources import Workspace


def frame() -> None:
    """Draw what every page draws of its author."""
    import streamlit as st

    from entail.ui.frame.author import draw_author
    from entail.ui.shared.resources import workspace

    st.text(draw_author(workspace().authors) or "nobody")


def field() -> None:
    """Draw the field for a name alone."""
    import streamlit as st

    from entail.ui.frame.author import ask_name, read_author, visitor
    from entail.ui.shared.resources import workspace

    read_author(workspace().authors)
    ask_name("dialog")
    st.text(visitor().name or "nobody")


def test_a_second_name_in_the_same_field_is_ignored(shared: Workspace) -> None:
    """The browser keeps the field until the run ends, and sends what was typed into it meanwhile."""
    app = AppTest.from_function(field).run()
    assert app.text[0].value == "nobody"
    for typed in ("Ada", "Ada1"):
        app = app.text_input(key=f"{FIELD}dialog").set_value(typed).run()
        assert not app.exception
        assert app.text[0].value == "Ada"


def test_a_name_counts_although_no_callback_ran(shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit interrupts a callback for a run that waits, and does not call it again."""
    stored: list[str | None] = []
    monkeypatch.setattr("entail.ui.frame.author._remember", lambda name, forget: stored.append(name))
    app = AppTest.from_function(frame)
    app.session_state[f"{FIELD}start"] = "Ada"
    app.run()
    assert not app.exception
    assert app.text[0].value == "Ada"
    assert stored == ["Ada"], "in the same run, before a reload"


def test_an_author_who_leaves_is_not_entered_again_from_a_field(shared: Workspace) -> None:
    app = AppTest.from_function(frame)
    app.session_state[f"{FIELD}dialog"] = "Ada"
    app.run()
    assert app.text[0].value == "Ada"
    app.button(key="leave").click().run()
    assert not app.exception
    assert app.text[0].value == "nobody"
