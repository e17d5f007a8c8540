import pytest
from streamlit.testing.v1 import AppTest

from entail.ui.components.keyboard import KeyPress, listen


def page() -> None:
    import streamlit as st

    from entail.ui.components.keyboard import listen

    if "sent" in st.session_state:
        from entail.ui.components.inbox import inbox

        inbox("keys").take(st.session_state.pop("sent"))
    presses = listen(keys=["1", "shift+1", "u", "?", "[", "up", "shift+left"], key="keys", stamp="s")
    st.text(repr(tuple(presses)))


def messages(*keys: object) -> dict[str, object]:
    return {
        "mount": "a",
        "messages": [{"number": i, "key": key, "stamp": "s"} for i, key in enumerate(keys, start=1)],
    }


def test_nothing_pressed() -> None:
    ran = AppTest.from_function(page).run()
    assert not ran.exception
    assert ran.text[0].value == "()"


def test_presses_come_in_order_and_once() -> None:
    app = AppTest.from_function(page)
    app.session_state["sent"] = messages("1", "1", "shift+1", 7)
    ran = app.run()
    assert not ran.exception
    expected = (KeyPress("1", 1, "s"), KeyPress("1", 2, "s"), KeyPress("shift+1", 3, "s"))
    assert [text.value for text in ran.text] == [repr(expected)]
    assert ran.run().text[0].value == "()"


@pytest.mark.parametrize("name", ["Up", "ctrl+z", "shift+?", "shift", "10", "", "U", " "])
def test_a_key_that_cannot_be_pressed_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="keys are single lower-case characters or one of up, down"):
        listen(keys=["1", name], key="keys")
