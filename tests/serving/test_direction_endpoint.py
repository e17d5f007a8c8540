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


def change_form(name: str, **fields: Any) -> None:
    path = resolve(name).path / "entail.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["gaussian"] |= fields
    path.write_text(json.dumps(about), encoding="utf-8")


def test_direction(gaussian: str, serve: Callable[..., Served]) -> None:
    served = serve(others=[gaussian])
    first, second = ["ba be bi", "fo fu", "ba"], ["ba", "fo fu", "si so su"]
    expected = judge(GaussianEncoder(gaussian), first, second)
    with Client(served.url) as client:
        answer = client.direction(first, second)
        assert answer.encoder == gaussian
        assert answer.revision == resolve(gaussian).revision
        assert answer.threshold == 0.5
        assert [pair.says for pair in answer.pairs] == [verdict.says for verdict in expected]
        assert answer.pairs[1].says == "both ways"
        for name in ("forward", "backward", "margin", "direction"):
            values = [getattr(verdict, name) for verdict in expected]
            np.testing.assert_allclose(
                [getattr(pair, name) for pair in answer.pairs], values, rtol=1e-3, atol=1e-5
            )
        (alone,) = client.direction(first[:1], second[:1], encoder=gaussian).pairs
        # Not to the bit: a batch of one may be added up in another order.
        assert alone.says == answer.pairs[0].says
        assert alone.margin == pytest.approx(answer.pairs[0].margin, abs=1e-5)
        listed = {encoder.name: (encoder.gaussian, encoder.dimension) for encoder in client.info().encoders}
        assert listed == {"tiny": (False, 16), gaussian: (True, 16)}


def test_confidence_is_at_least_one_half(gaussian: str, serve: Callable[..., Served]) -> None:
    change_form(gaussian, threshold=0.1, entailment={"slope": 1.0, "intercept": -9.0})
    served = serve(others=[gaussian])
    first, second = ["ba be bi", "ba"], ["ba", "si so su"]
    pairs = served.post("/direction", first=first, second=second).json["pairs"]
    assert [(pair["says"], pair["sure"]) for pair in pairs] == [("both ways", 0.5)] * 2
    assert [v.sure for v in judge(GaussianEncoder(gaussian), first, second)] == [0.5, 0.5]


def test_encode_gaussians(gaussian: str, serve: Callable[..., Served]) -> None:
    served = serve(others=[gaussian])
    texts = ["ba be bi", "fo fu", "ba be bi"]
    expected = GaussianEncoder(gaussian).encode(texts)
    plain = served.post("/encode", texts=texts, encoder=gaussian).json
    assert (plain["encoder"], plain["dimension"], plain["normalised"]) == (gaussian, 16, False)
    assert plain["revision"] == resolve(gaussian).revision
    np.testing.assert_allclose(plain["vectors"], expected.mean, atol=1e-5)
    np.testing.assert_allclose(plain["log_variances"], expected.log_variance, atol=1e-5)
    assert np.ptp(expected.log_variance) > 0.05
    # One tower, whosever vectors are asked for.
    again = served.post("/encode", texts=texts, encoder=gaussian, tower="premise", normalised=False).json
    np.testing.assert_allclose(again["vectors"], expected.mean, atol=1e-5)
    with Client(served.url) as client:
        gaussians = client.encode_gaussians(texts, encoder=gaussian)
        np.testing.assert_allclose(gaussians.values, expected.values, atol=1e-5)
        with pytest.raises(ServingError, match="expected nothing or false with 'mine', found true") as caught:
            client.encode(texts, encoder=gaussian)
        assert (caught.value.status, caught.value.field) == (422, "normalised")
        with pytest.raises(ServingError, match="'tiny', which makes points"):
            client.encode_gaussians(texts, encoder="tiny")
    assert served.post("/encode", texts=texts).json["log_variances"] is None


def test_encode_with_tanh(gaussian: str, serve: Callable[..., Served]) -> None:
    change_form(gaussian, tanh=True)
    served = serve(others=[gaussian])
    expected = GaussianEncoder(gaussian).encode(["ba be bi"])
    assert abs(expected.mean).max() < 1
    answer = served.post("/encode", texts=["ba be bi"], encoder=gaussian).json
    np.testing.assert_allclose(answer["vectors"], expected.mean, atol=1e-5)


def test_truncated_sentences(gaussian: str, serve: Callable[..., Served]) -> None:
    served = serve(others=[gaussian])
    long = " ".join(["ba"] * 600)
    with Client(served.url) as client:
        pairs = client.direction(["ba", long, "ba", long], ["be", "be", long, long]).pairs
    assert [pair.truncated for pair in pairs] == [(), ("first",), ("second",), ("first", "second")]
    reply = served.post("/direction", first=[long], second=["be"])
    assert reply.json["pairs"][0]["truncated"] == ["first"]


def test_default_is_the_active_model(gaussian: str, tiny_home: Path, serve: Callable[..., Served]) -> None:
    for other in ("a-first", "gausscse-minilm"):
        shutil.copytree(tiny_home / gaussian, tiny_home / other)
    served = serve(others=[gaussian, "a-first", "gausscse-minilm"])
    with Client(served.url) as client:
        assert client.direction(["ba"], ["be"]).encoder == "gausscse-minilm"
        promote(gaussian, by="Ann", anyway=True)
        assert client.direction(["ba"], ["be"]).encoder == gaussian
        shutil.rmtree(tiny_home / gaussian)
        assert client.direction(["ba"], ["be"]).encoder == "gausscse-minilm"


def test_without_an_encoder_of_gaussians(served: Served) -> None:
    reply = served.post("/direction", first=["ba"], second=["be"])
    assert reply.status == 404
    assert "entail train gausscse" in reply.error["message"]
