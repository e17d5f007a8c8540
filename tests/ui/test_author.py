"""Who is at work, as the pages ask it."""

import pytest
from streamlit.testing.v1 import AppTest

from entail.ui.frame.author import DIALOG, FIELDS, SIDEBAR
from entail.ui.shared.resources import Workspace


def _asks() -> None:
    import streamlit as st

    from entail.ui.frame.author import SIDEBAR, answered, ask_name, visitor
    from entail.ui.shared.resources import workspace

    answered(workspace().authors)
    ask_name(workspace().authors, key=SIDEBAR)
    st.text(visitor().name or "nobody")


def test_a_field_that_was_answered_has_no_more_to_say(shared: Workspace) -> None:
    """The browser keeps it until the run ends, and tells of what was typed into it meanwhile."""
    app = AppTest.from_function(_asks).run()
    assert app.text[0].value == "nobody"
    app = app.text_input(key=SIDEBAR).set_value("Ada").run()
    app = app.text_input(key=SIDEBAR).set_value("Ada1").run()
    assert not app.exception
    assert app.text[0].value == "Ada"


@pytest.mark.parametrize("key", FIELDS)
def test_a_name_is_heard_though_no_callback_was_called(shared: Workspace, key: str) -> None:
    """Streamlit breaks a callback off for a run that waits and calls it no second time: what the field
    holds is there in the run after, and nothing else."""
    app = AppTest.from_function(_asks)
    app.session_state[key] = "Ada"
    app.run()
    assert not app.exception
    assert app.text[0].value == "Ada"


def test_who_left_is_not_named_again_by_what_a_field_still_holds(shared: Workspace) -> None:
    def leaves() -> None:
        import streamlit as st

        from entail.ui.frame.author import current_author, leave
        from entail.ui.shared.resources import workspace

        st.text(current_author(workspace().authors) or "nobody")
        st.button("Not you?", on_click=leave)

    app = AppTest.from_function(leaves)
    app.session_state[DIALOG] = "Ada"
    app.run()
    assert app.text[0].value == "Ada"
    app.button[0].click().run()
    assert not app.exception
    assert app.text[0].value == "nobody"


def test_the_browser_is_told_in_the_run_that_hears_the_name(
    shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who reloads the page at once is asked again."""
    told: list[str | None] = []
    monkeypatch.setattr("entail.ui.frame.author._remember", lambda name, forget: told.append(name))

    def asks() -> None:
        import streamlit as st

        from entail.ui.frame.author import current_author
        from entail.ui.shared.resources import workspace

        st.text(current_author(workspace().authors) or "nobody")

    app = AppTest.from_function(asks)
    app.session_state[SIDEBAR] = "Ada"
    assert app.run().text[0].value == "Ada"
    assert told == ["Ada"]
