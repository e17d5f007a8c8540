"""Which sentence entails which, over HTTP."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.catalogue import resolve
from entail.encoders.gaussian import GaussianEncoder
from entail.errors import ServingError
from entail.gausscse.verdict import judge
from entail.roles import put_in_use
from entail.serving.client import Client
from tests.serving.conftest import Served


def test_the_answer_is_what_the_library_says(gaussian: str, serve: Callable[..., Served]) -> None:
    served = serve(others=[gaussian])
    first, second = ["ba be bi", "fo fu", "ba"], ["ba", "fo fu", "si so su"]
    expected = judge(GaussianEncoder(gaussian), first, second)
    with Client(served.url) as client:
        found = client.direction(first, second)
        assert found.encoder == gaussian
        assert found.revision == resolve(gaussian).revision
        assert found.threshold == 0.5
        assert [pair.says for pair in found.pairs] == [verdict.says for verdict in expected]
        assert found.pairs[1].says == "both ways"
        for name in ("forward", "backward", "margin", "direction"):
            ours = [getattr(verdict, name) for verdict in expected]
            np.testing.assert_allclose(
                [getattr(pair, name) for pair in found.pairs], ours, rtol=1e-3, atol=1e-5
            )
        (alone,) = client.direction(first[:1], second[:1], encoder=gaussian).pairs
        # Not to the bit: a batch of one may be added up in another order.
        assert alone.says == found.pairs[0].says
        assert alone.margin == pytest.approx(found.pairs[0].margin, abs=1e-5)
        listed = {one.name: one.dimension for one in client.info().encoders}
        assert listed[gaussian] == 32
        with pytest.raises(ServingError, match="no encoder of this name is served"):
            client.encode(["ba"], encoder=gaussian)
        assert gaussian not in client.info().retrievers


def test_where_none_is_named_it_is_the_one_in_use(
    gaussian: str, tiny_home: Path, serve: Callable[..., Served]
) -> None:
    for other in ("a-first", "gausscse-minilm"):
        shutil.copytree(tiny_home / gaussian, tiny_home / other)
    served = serve(others=[gaussian, "a-first", "gausscse-minilm"])
    with Client(served.url) as client:
        assert client.direction(["ba"], ["be"]).encoder == "gausscse-minilm"
        put_in_use(gaussian, by="Ann", anyway=True)
        assert client.direction(["ba"], ["be"]).encoder == gaussian
        shutil.rmtree(tiny_home / gaussian)
        assert client.direction(["ba"], ["be"]).encoder == "gausscse-minilm"


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"first": ["ba"], "second": ["ba", "be"]}, 422, "second"),
        ({"first": ["ba"], "second": [""]}, 422, "second.0"),
        ({"first": ["ba"]}, 422, "second"),
        ({"first": ["ba"], "second": ["be"], "encoder": "tiny"}, 404, None),
    ],
)
def test_what_cannot_be_judged_is_refused(
    gaussian: str, serve: Callable[..., Served], fields: dict[str, Any], status: int, field: str | None
) -> None:
    reply = serve(others=[gaussian]).post("/direction", **fields)
    assert reply.status == status
    assert reply.error.get("field") == field


def test_without_an_encoder_of_gaussians_it_says_how_to_get_one(served: Served) -> None:
    reply = served.post("/direction", first=["ba"], second=["be"])
    assert reply.status == 404
    assert "entail train gausscse" in reply.error["message"]
