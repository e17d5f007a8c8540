"""The program that reproduces AE-Enc's Table 1: rows, bases of every architecture, going on, the table."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import SYLLABLES

ROWS = ("base", "+TML single")
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def script(load_script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, each of whose rows learns for one epoch."""
    module = load_script("reproduce_aeenc")
    short = tuple(
        row if row.config is None else replace(row, config=_short(row.config)) for row in module.ROWS
    )
    monkeypatch.setattr(module, "ROWS", short)
    return module


def _short(config: Any) -> Any:
    return replace(config, epochs=1, k=5, rank=2, batch_size=8)


@pytest.fixture
def run(
    script: ModuleType,
    home: Path,
    grove: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Return what runs the program on the grove, in `tmp_path`, and returns the figures of a split."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "facts.txt").write_text("\n".join(grove["facts"]), encoding="utf-8")
    for name, rows in (
        ("train", grove["rows"][:5]),
        ("dev", grove["rows"][5:7]),
        ("test", grove["rows"][6:]),
    ):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(script, "RESULTS", tmp_path / "results")

    def with_these(*more: str, base: str = "tiny", split: str = "dev") -> dict[str, Any]:
        options = ["--corpus", "facts.txt", "--train", "train.jsonl", "--dev", "dev.jsonl", "--work", "work"]
        monkeypatch.setattr("sys.argv", ["reproduce", *options, "--base", base, *more])
        assert script.main() == 0
        name = base if base.startswith("org/") else Path(base).name
        file = tmp_path / "results" / f"aeenc_table1_{split}_{script.slug(name)}.json"
        figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["figures"]
        return figures

    return with_these


def test_rows_are_measured_and_told_in_the_table(run: Run, tmp_path: Path) -> None:
    figures = run("--rows", *ROWS, "--seeds", "0", "1")
    assert list(figures["rows"]) == list(ROWS)
    assert [list(runs) for runs in figures["rows"].values()] == [["0"], ["0", "1"]]
    assert (figures["trees"], figures["premises"]) == (2, 40)
    trained = figures["rows"]["+TML single"]["1"]["trained"]
    assert (trained["name"], trained["config"]["seed"]) == ("tiny-tml-single-1", 1)
    page = (tmp_path / "results" / "aeenc.md").read_text(encoding="utf-8")
    assert "## dev, base tiny" in page
    assert page.count("\n| +TML single | ") == 4 + 1  # two protocols, two tables each, and the effort
    for measure in ("MAP", "NDCG@20", "NDCG@30", "NDCG@40", "Hit@30", "Hit@40", "Hit@50"):
        assert f" {measure} |" in page


def test_another_file_is_measured_by_its_path_with_weights_chosen_on_dev(
    run: Run, script: ModuleType
) -> None:
    first = run("--rows", *ROWS)
    second = run("--rows", *ROWS, "--test", "test.jsonl", "--split", "test", split="test")
    assert second["trees"] == 2
    runs = [figures["rows"]["+TML single"]["0"] for figures in (first, second)]
    assert runs[0]["trained"]["fitted"]["best"]["score"] == runs[1]["trained"]["fitted"]["best"]["score"]
    assert runs[0]["query_excluded"] != runs[1]["query_excluded"]


def test_a_run_that_was_broken_off_goes_on_where_it_was(
    run: Run, script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(figures: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        row = figures["rows"]["+TML single"]["0"]
        return row["query_excluded"], row["trained"]["fitted"]

    whole, undisturbed = told(run("--rows", "+TML single", "--work", "other"))
    train = script.train_aeenc
    monkeypatch.setattr(script, "train_aeenc", partial(train, stop=lambda: True))
    with pytest.raises(SystemExit, match="stopped"):
        run("--rows", "+TML single")
    monkeypatch.setattr(script, "train_aeenc", train)
    figures = run("--rows", "+TML single")
    measured, fitted = told(figures)
    assert (fitted["resumed"], fitted["steps"]) == (1, undisturbed["steps"])
    assert measured == whole
    monkeypatch.setattr(script, "run_row", lambda *_, **__: pytest.fail("measures what is there"))
    assert run("--rows", "+TML single", "--missing") == figures


def test_a_row_that_is_not_there_is_answered_with_those_that_are(run: Run) -> None:
    with pytest.raises(SystemExit, match=r"no row is called 'AE'; rows are: TF-IDF, BM25, base"):
        run("--rows", "AE")


_SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}


def _bert(size: int) -> Any:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(vocab_size=size, **_SMALL))


def _dpr(size: int) -> Any:
    from transformers import DPRConfig, DPRQuestionEncoder

    return DPRQuestionEncoder(DPRConfig(vocab_size=size, **_SMALL))


def _t5(size: int) -> Any:
    from transformers import T5Config, T5EncoderModel

    return T5EncoderModel(T5Config(vocab_size=size, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2))


@pytest.fixture
def on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return what makes a tiny model that the Hub then has as `org/NAME`, plain or with modules behind it."""

    def put(name: str, make: Callable[[int], Any], pooling: str = "", dense: int = 0) -> str:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
        from transformers import BertTokenizerFast

        plain, snapshot = tmp_path / "plain", tmp_path / "0123abcd"
        plain.mkdir()
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *SYLLABLES]
        (plain / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
        # Its tokenizer knows no limit, as T5's may not.
        BertTokenizerFast(vocab=str(plain / "vocab.txt")).save_pretrained(plain)
        make(len(vocabulary)).save_pretrained(plain)
        if pooling:
            modules: list[Any] = [Transformer(str(plain)), Pooling(16, pooling)]
            modules += [Dense(16, dense, bias=False), Normalize()] if dense else []
            SentenceTransformer(modules=modules, device="cpu").save_pretrained(
                str(snapshot), create_model_card=False
            )
        else:
            plain.rename(snapshot)
        monkeypatch.setattr("entail.encoders.catalogue.ask", lambda *_, **__: str(snapshot))
        return f"org/{name}"

    return put


@pytest.mark.parametrize(
    ("name", "make", "pooling", "dense"),
    [
        ("bert-base-uncased", _bert, "", 0),
        ("simcse-or-dpr", _bert, "cls", 0),
        ("t5-base", _t5, "", 0),
        ("sentence-t5", _t5, "mean", 12),
    ],
)
def test_the_papers_other_encoders_go_the_same_way(
    run: Run, on_the_hub: Callable[..., str], name: str, make: Any, pooling: str, dense: int
) -> None:
    base = on_the_hub(name, make, pooling, dense)
    figures = run("--rows", *ROWS, base=base)
    assert figures["base"] == base
    trained = figures["rows"]["+TML single"]["0"]["trained"]
    assert trained["fitted"]["steps"] > 0
    assert trained["config"]["base"] == base


def test_half_a_dpr_is_answered_with_what_to_take(run: Run, on_the_hub: Callable[..., str]) -> None:
    with pytest.raises(SystemExit, match="found DPRQuestionEncoder as transformers saves it"):
        run("--rows", "base", base=on_the_hub("dpr-question_encoder", _dpr))


def test_the_papers_figures_stand_beside_the_base_they_are_of(script: ModuleType) -> None:
    table = {row.name: row.paper for row in script.ROWS}
    assert script.papers("minilm") == {name: paper for name, paper in table.items() if paper}
    assert script.papers("princeton-nlp/unsup-simcse-bert-base-uncased")["base"]["MAP"] == 0.324
    assert script.papers("google-bert/bert-base-uncased")["base"]["Hit@50"] == 0.181
    assert script.papers("sentence-transformers/sentence-t5-base")["+SCL single"]["MAP"] == 0.348
    # TF-IDF has no base, and of SBERT's rows nothing is said of another one.
    assert set(script.papers("org/mine")) == {"TF-IDF"}
