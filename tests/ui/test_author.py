"""Who is at work, as the pages ask it."""

from streamlit.testing.v1 import AppTest

from entail.ui.author import SIDEBAR
from entail.ui.resources import Workspace


def test_a_field_that_was_answered_has_no_more_to_say(shared: Workspace) -> None:
    """The browser keeps it until the run ends, and tells of what was typed into it meanwhile."""

    def asks() -> None:
        import streamlit as st

        from entail.ui.author import SIDEBAR, ask_name, visitor
        from entail.ui.resources import workspace

        ask_name(workspace().authors, key=SIDEBAR)
        st.text(visitor().name or "nobody")

    app = AppTest.from_function(asks).run()
    assert app.text[0].value == "nobody"
    app = app.text_input(key=SIDEBAR).set_value("Ada").run()
    app = app.text_input(key=SIDEBAR).set_value("Ada1").run()
    assert not app.exception
    assert app.text[0].value == "Ada"
