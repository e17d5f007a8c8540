"""Parts of several pages: texts and times, first values of widgets, typed names."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from entail.ui.frame.author import FIELD
from entail.ui.shared import link
from entail.ui.shared.text import label, local

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        *(("Asia/Tokyo", 21), ("America/New_York", 8), ("UTC", 12)),
        *((unknown, NOON.astimezone().hour) for unknown in (None, "Mars/Base", "../../etc/passwd")),
    ],
)
def test_times_are_those_of_the_browser_or_of_the_server(
    monkeypatch: pytest.MonkeyPatch, zone: str | None, hour: int
) -> None:
    monkeypatch.setattr("entail.ui.shared.text.st", SimpleNamespace(context=SimpleNamespace(timezone=zone)))
    assert (local(NOON).hour, local(NOON)) == (hour, NOON)


def test_codes_of_emoji_stay_as_written_and_times_whole() -> None:
    assert "\u200b" in label("a :sun: is hot")
    assert "\u200b" not in label("at 17:05:12")


def numbers() -> None:
    import streamlit as st

    from entail.ui.shared.link import init_value

    init_value("k", 60)
    st.number_input("Neighbours", min_value=1, max_value=1000, key="k")


def test_a_first_value_is_sent_again_in_the_first_seconds_unless_another_is_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It reaches the browser even if the first run is superseded before it is sent."""
    app = AppTest.from_function(numbers).run()
    assert app.run().number_input(key="k").proto.set_value
    assert app.number_input(key="k").value == 60
    app.number_input(key="k").set_value(7).run()
    assert app.run().number_input(key="k").value == 7
    monkeypatch.setattr(link, "UNSENT", 0)
    assert not app.run().number_input(key="k").proto.set_value


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


@pytest.mark.usefixtures("shared")
def test_a_second_name_in_the_same_field_is_ignored() -> None:
    """The browser keeps the field until the run ends, and sends what was typed into it meanwhile."""
    app = AppTest.from_function(field).run()
    assert app.text[0].value == "nobody"
    for typed in ("Ada", "Ada1"):
        app = app.text_input(key=f"{FIELD}dialog").set_value(typed).run()
        assert app.text[0].value == "Ada"


@pytest.mark.usefixtures("shared")
def test_a_name_counts_although_no_callback_ran_until_its_author_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Streamlit interrupts a callback for a run that waits, and does not call it again."""
    stored: list[str | None] = []
    monkeypatch.setattr("entail.ui.frame.author._remember", lambda name, forget: stored.append(name))
    app = AppTest.from_function(frame)
    app.session_state[f"{FIELD}start"] = "Ada"
    app.run()
    assert app.text[0].value == "Ada"
    assert stored == ["Ada"], "in the same run, before a reload"
    app.button(key="leave").click().run()
    assert app.text[0].value == "nobody"


def test_a_long_sentence_is_there_whole() -> None:
    def sentence() -> None:
        from entail.ui.components.elements import draw_sentence

        draw_sentence("snow is cold " * 200, level=1)
        draw_sentence("snow is cold", level=1)

    long, short = AppTest.from_function(sentence).run().markdown
    assert len(long.value) < 700 < 2_000 < len(long.proto.help)
    assert (short.value, short.proto.help) == ("# snow is cold", "")
