from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from entail.ui.components.inbox import Inbox


def sent(mount: str, *numbers: int) -> dict[str, Any]:
    return {"mount": mount, "messages": [{"number": number} for number in numbers]}


def drained(box: Inbox) -> list[int]:
    return [message["number"] for message in box.drain()]


def test_what_is_sent_again_is_taken_once() -> None:
    box = Inbox()
    box.take(sent("a", 1, 2))
    box.take(sent("a", 1, 2, 3))
    assert drained(box) == [1, 2, 3]
    assert drained(box) == []
    box.take(sent("a", 3))
    assert drained(box) == []


def test_numbers_begin_anew_when_the_component_is_drawn_anew() -> None:
    box = Inbox()
    box.take(sent("a", 1, 2))
    box.take(sent("b", 1))
    assert drained(box) == [1, 2, 1]
    assert box.acknowledged == {"mount": "b", "seen": 1}


def test_what_a_mount_sends_again_after_another_is_not_taken_twice() -> None:
    box = Inbox()
    box.take(sent("a", 1, 2))
    box.take(sent("b", 1))
    box.take(sent("a", 1, 2, 3))  # it has not heard yet that it is gone
    assert drained(box) == [1, 2, 1, 3]
    assert box.acknowledged == {"mount": "a", "seen": 3}
    box.take(sent("b", 1, 2))
    assert drained(box) == [2]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "sent",
        [],
        {},
        {"mount": "a"},
        {"mount": 1, "messages": []},
        {"mount": "a", "messages": "x"},
        {"mount": "a", "messages": [None, {}, {"number": "1"}, {"number": 0}]},
    ],
)
def test_what_is_malformed_is_left_out(wrong: object) -> None:
    box = Inbox()
    box.take(wrong)
    assert drained(box) == []


@given(st.integers(0, 12), st.data())
def test_nothing_is_lost_or_taken_twice_however_runs_fall(count: int, data: st.DataObject) -> None:
    # The browser sends all that is open with each message; Streamlit keeps the last that it has not run.
    box, open_, taken = Inbox(), [], []
    pending: dict[str, Any] | None = None
    for number in range(1, count + 1):
        open_ = [n for n in open_ if n > box.acknowledged["seen"]] if data.draw(st.booleans()) else open_
        open_.append(number)
        pending = sent("a", *open_)
        if data.draw(st.booleans()):
            box.take(pending)
            pending = None
            taken += drained(box) if data.draw(st.booleans()) else []
    box.take(pending)
    assert taken + drained(box) == list(range(1, count + 1))


def test_callback_fills_the_inbox_before_it_calls_on() -> None:
    def script() -> None:
        import streamlit as st

        from entail.ui.components.inbox import receiver

        st.session_state["mounted"] = {"sent": {"mount": "a", "messages": [{"number": 1, "key": "u"}]}}
        receiver("mounted", lambda messages: st.text(str([m["key"] for m in messages])))()
        st.session_state["mounted"] = {}
        receiver("mounted", None)()

    ran = AppTest.from_function(script).run()
    assert not ran.exception
    assert ran.text[0].value == "['u']"


def test_what_was_sent_is_taken_although_the_next_run_waits_already() -> None:
    def script() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

        from entail.ui.components.inbox import receiver

        done = st.session_state.setdefault("done", [])
        first = "mounted" not in st.session_state
        sent = {"mount": "a", "messages": [{"number": 1, "key": "u"}]}
        st.session_state["mounted"] = {"sent": sent} if first else {}
        receive = receiver("mounted", lambda messages: done.extend(m["key"] for m in messages))
        context = get_script_run_ctx()
        if first and context is not None and context.script_requests is not None:
            context.script_requests.request_rerun(RerunData())
        receive()
        st.text(str(done))

    ran = AppTest.from_function(script).run()
    assert not ran.exception
    assert [text.value for text in ran.text] == ["['u']"]


def test_what_a_broken_off_run_did_not_come_to_waits_for_the_next() -> None:
    box = Inbox()
    box.take(sent("a", 1, 2, 3))
    for message in box.drain():
        if message["number"] == 2:
            break
    box.take(sent("a", 3, 4))
    assert drained(box) == [3, 4]


def test_runs_act_in_turn() -> None:
    """A second run, which Streamlit begins while the first still acts, does what came later, later."""
    done: list[int] = []
    acting, second_came = Event(), Event()
    box = Inbox()

    def act(number: int) -> None:
        if number == 1:
            acting.set()
            assert second_came.wait(10)
        done.append(number)

    def run(numbers: tuple[int, ...]) -> None:
        with box.turn:
            box.take(sent("a", *numbers))
            for message in box.drain():
                act(message["number"])

    first = Thread(target=run, args=((1,),))
    first.start()
    assert acting.wait(10)
    second = Thread(target=run, args=((1, 2),))
    second.start()
    second_came.set()
    for thread in (first, second):
        thread.join(10)
    assert done == [1, 2]
