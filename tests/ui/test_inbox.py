"""Messages from the browser: nothing lost, nothing taken twice, whatever runs Streamlit breaks off."""

from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from entail.ui.components.inbox import Inbox, NodeEvent, node_handler, receiver


def sent(mount: str, *numbers: int) -> dict[str, Any]:
    return {"mount": mount, "messages": [{"number": number} for number in numbers]}


def drained(box: Inbox) -> list[int]:
    return [message["number"] for message in box.drain()]


def test_each_message_is_taken_once_whichever_mount_repeats_it() -> None:
    box = Inbox()
    box.take(sent("a", 1, 2))
    box.take(sent("a", 1, 2, 3))
    assert drained(box) == [1, 2, 3]
    box.take(sent("a", 3))
    box.take(sent("b", 1))  # drawn anew: numbers begin again
    box.take(sent("a", 1, 2, 3, 4))  # the first mount does not know yet that it is gone
    assert drained(box) == [1, 4]
    assert (box.mount, box.seen) == ("a", 4)
    box.take(sent("b", 1, 2))
    assert drained(box) == [2]


def test_malformed_messages_are_skipped() -> None:
    box = Inbox()
    for wrong in (
        None,
        {"mount": 1, "messages": []},
        {"mount": "a", "messages": "x"},
        {"mount": "a", "messages": [None, {}, {"number": "1"}, {"number": 0}]},
    ):
        box.take(wrong)
    assert drained(box) == []


@given(st.integers(0, 12), st.data())
def test_nothing_is_lost_or_taken_twice_however_runs_fall(count: int, data: st.DataObject) -> None:
    # The browser sends all that is open with each message; Streamlit keeps the last that it has not run.
    box, open_, numbers = Inbox(), [], []
    pending: dict[str, Any] | None = None
    for number in range(1, count + 1):
        open_ = [n for n in open_ if n > box.seen] if data.draw(st.booleans()) else open_
        open_.append(number)
        pending = sent("a", *open_)
        if data.draw(st.booleans()):
            box.take(pending)
            pending = None
            for message in box.drain() if data.draw(st.booleans()) else ():
                numbers.append(message["number"])
                if data.draw(st.booleans()):  # the run is interrupted
                    break
    box.take(pending)
    assert numbers + drained(box) == list(range(1, count + 1))


def test_messages_are_handled_although_the_next_run_waits_already() -> None:
    def script() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

        from entail.ui.components.inbox import Inbox, receiver

        done = st.session_state.setdefault("done", [])
        box = st.session_state.setdefault("box", Inbox())
        first = "mounted" not in st.session_state
        sent = {"mount": "a", "messages": [{"number": 1, "key": "u"}]}
        st.session_state["mounted"] = {"sent": sent} if first else {}
        receive = receiver("mounted", box, lambda message: done.append(message["key"]))
        context = get_script_run_ctx()
        if first and context is not None and context.script_requests is not None:
            context.script_requests.request_rerun(RerunData())
        receive()
        st.text(str(done))

    ran = AppTest.from_function(script).run()
    assert [text.value for text in ran.text] == ["['u']"]


def test_concurrent_runs_act_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    acting, second_came = Event(), Event()
    values = {"first": {"sent": sent("a", 1)}, "second": {"sent": sent("a", 1, 2)}}
    monkeypatch.setattr("entail.ui.components.inbox.widget_value", values.get)

    def act(message: Any) -> None:
        if message["number"] == 1:
            acting.set()
            assert second_came.wait(10)
        done.append(message["number"])

    box = Inbox()
    threads = [Thread(target=receiver(key, box, act)) for key in values]
    threads[0].start()
    assert acting.wait(10)
    threads[1].start()
    second_came.set()
    for thread in threads:
        thread.join(10)
    assert done == [1, 2]


def test_malformed_events_of_nodes_are_skipped() -> None:
    events: list[NodeEvent] = []
    handle = node_handler(("select", "open"), events.append)
    for message in (
        {"kind": "explode", "node": "n1"},
        {"kind": "select", "node": 3},
        {"node": "n1"},
        {"kind": "toggle", "node": "n1"},
        {"kind": "select", "node": "n1"},
        {"kind": "open", "node": "n1.1"},
    ):
        handle(message)
    assert events == [NodeEvent("select", "n1"), NodeEvent("open", "n1.1")]
