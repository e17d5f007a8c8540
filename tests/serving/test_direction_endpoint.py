"""Direction of entailment and Gaussians over HTTP."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import ServingError
from entail.gausscse.verdict import judge
from entail.registry.models import promote
from entail.serving.client import Client
from tests.serving.conftest import Served

LONG = " ".join(["ba"] * 600)


def change_form(name: str, **fields: Any) -> None:
    path = resolve(name).path / "entail.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["gaussian"] |= fields
    path.write_text(json.dumps(about), encoding="utf-8")


@pytest.mark.parametrize("form", [{}, {"threshold": 0.1, "entailment": {"slope": 1.0, "intercept": -9.0}}])
def test_direction(gaussian: str, serve: Callable[..., Served], form: dict[str, Any]) -> None:
    change_form(gaussian, **form)
    first, second = ["ba be bi", "fo fu", LONG, LONG], ["ba", "fo fu", "be", LONG]
    expected = judge(GaussianEncoder(gaussian), first, second)
    with Client(serve(others=[gaussian]).url) as client:
        answer = client.direction(first, second)
        infos = {encoder.name: (encoder.gaussian, encoder.dimension) for encoder in client.info().encoders}
    assert infos == {"tiny": (False, 16), gaussian: (True, 16)}
    assert (answer.encoder, answer.revision) == (gaussian, resolve(gaussian).revision)
    assert answer.threshold == form.get("threshold", 0.5)
    assert [pair.says for pair in answer.pairs] == [verdict.says for verdict in expected]
    assert [pair.sure for pair in answer.pairs] == [verdict.sure for verdict in expected]
    assert [pair.truncated for pair in answer.pairs] == [(), (), ("first",), ("first", "second")]
    for name in ("forward", "backward", "margin", "direction"):
        values = [getattr(verdict, name) for verdict in expected]
        np.testing.assert_allclose([getattr(p, name) for p in answer.pairs], values, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("tanh", [False, True])
def test_encode_gaussians(gaussian: str, serve: Callable[..., Served], tanh: bool) -> None:
    change_form(gaussian, tanh=tanh)
    served, texts = serve(others=[gaussian]), ["ba be bi", "fo fu", "ba be bi"]
    expected = GaussianEncoder(gaussian).encode(texts)
    plain = served.post("/encode", texts=texts, encoder=gaussian, tower="premise").json  # there is one tower
    assert (plain["encoder"], plain["dimension"], plain["normalised"]) == (gaussian, 16, False)
    np.testing.assert_allclose(plain["vectors"], expected.mean, atol=1e-5)
    np.testing.assert_allclose(plain["log_variances"], expected.log_variance, atol=1e-5)
    with Client(served.url) as client:
        gaussians = client.encode_gaussians(texts, encoder=gaussian)
        np.testing.assert_allclose(gaussians.values, expected.values, atol=1e-5)
        for call, encoder in ((client.encode, gaussian), (client.encode_gaussians, "tiny")):
            with pytest.raises(ServingError):
                call(texts, encoder=encoder)


def test_default_is_the_active_model(gaussian: str, tiny_home: Path, serve: Callable[..., Served]) -> None:
    for other in ("a-first", "gausscse-minilm"):
        shutil.copytree(tiny_home / gaussian, tiny_home / other)
    with Client(serve(others=[gaussian, "a-first", "gausscse-minilm"]).url) as client:
        assert client.direction(["ba"], ["be"]).encoder == "gausscse-minilm"
        promote(gaussian, by="Ann", anyway=True)
        assert client.direction(["ba"], ["be"]).encoder == gaussian
        shutil.rmtree(tiny_home / gaussian)
        assert client.direction(["ba"], ["be"]).encoder == "gausscse-minilm"


def test_without_an_encoder_of_gaussians(served: Served) -> None:
    reply = served.post("/direction", first=["ba"], second=["be"])
    assert (reply.status, reply.error["kind"]) == (404, "unknown_encoder")
