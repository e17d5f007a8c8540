"""What an encoder learnt from: data sets and bases, their licences and whom to cite."""

from __future__ import annotations

from dataclasses import dataclass

from entail.encoders.catalogue import EncoderEntry
from entail.errors import SettingsError

PACKAGED_HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
"""What the packaged encoder is called on the Hub."""


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Data that encoders learn from, in the words of their cards.

    Attributes:
        name: As `entail.json` has it, in `trained_on.data`; the Hub's header names it so, too.
        about: What it is, one sentence.
        licence: As the Hub writes it; None where nobody here can say.
        note: What else is to be known of its licence.
        citation: BibTeX.
    """

    name: str
    about: str
    licence: str | None = None
    note: str = ""
    citation: str = ""


_SOURCES: dict[str, DataSource] = {}


def register_source(source: DataSource) -> None:
    """Let cards know a data set; to say the same again does nothing.

    Raises:
        SettingsError: If another one has this name.
    """
    if _SOURCES.setdefault(source.name, source) != source:
        raise SettingsError(f"expected one text a data set, found a second one of {source.name!r}")


def data_source(name: str) -> DataSource:
    """Return what is known of a data set; of one that is not registered its name alone.

    >>> data_source("entailment_bank").licence
    'apache-2.0'
    """
    return _SOURCES.get(name) or DataSource(
        name=name, about=f"{name}: nothing is known here of where it comes from"
    )


def known_sources() -> tuple[str, ...]:
    """Return the names of the data sets that are registered."""
    return tuple(_SOURCES)


def hub_id(base: EncoderEntry) -> str | None:
    """Return what an encoder is called on the Hub, None for one that is only here.

    >>> from entail.encoders.catalogue import resolve
    >>> hub_id(resolve("minilm"))
    'sentence-transformers/all-MiniLM-L6-v2'
    """
    if base.kind == "packaged":
        return PACKAGED_HUB_ID
    return base.name.partition("@")[0] if base.kind == "hub" else None


def base_citation(base: EncoderEntry) -> str:
    """Return BibTeX of an encoder that others are trained on, empty where it is not known here."""
    return _MINILM if hub_id(base) == PACKAGED_HUB_ID else ""


_MINILM = """@inproceedings{reimers2019sentence,
  title     = {Sentence-{BERT}: Sentence Embeddings using {Siamese} {BERT}-Networks},
  author    = {Reimers, Nils and Gurevych, Iryna},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year      = {2019}
}

@inproceedings{wang2020minilm,
  title     = {{MiniLM}: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
               Transformers},
  author    = {Wang, Wenhui and Wei, Furu and Dong, Li and Bao, Hangbo and Yang, Nan and Zhou, Ming},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2020}
}"""

TEAM = "team_decisions"
"""Name of what a team accepted and rejected in the app."""

register_source(
    DataSource(
        name="entailment_bank",
        about="EntailmentBank v2: explanation trees of elementary science, by experts",
        licence="apache-2.0",
        note="EntailmentBank is published under Apache-2.0 (the LICENSE file of allenai/entailment_bank); "
        "many of its sentences stem from the WorldTree tables, which are CC BY-SA 4.0. The weights hold no "
        "text of either.",
        citation="""@inproceedings{dalvi2021explaining,
  title     = {Explaining Answers with Entailment Trees},
  author    = {Dalvi, Bhavana and Jansen, Peter and Tafjord, Oyvind and Xie, Zhengnan and Smith, Hannah and
               Pipatanangkura, Leighanna and Clark, Peter},
  booktitle = {Proceedings of EMNLP},
  year      = {2021}
}""",
    )
)
register_source(
    DataSource(
        name=TEAM,
        about="what a team accepted and rejected while it wrote explanation trees over its own corpus",
        note="Whose the decisions and the corpus are, and what may be done with what was learnt from them, "
        "only their owners can say.",
    )
)
register_source(
    DataSource(
        name="snli",
        about="SNLI: captions of photographs, and what follows from them, may be, or cannot be",
        licence="cc-by-sa-4.0",
        citation="""@inproceedings{bowman2015large,
  title     = {A large annotated corpus for learning natural language inference},
  author    = {Bowman, Samuel R. and Angeli, Gabor and Potts, Christopher and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP},
  year      = {2015}
}""",
    )
)
register_source(
    DataSource(
        name="multinli",
        about="MultiNLI: the same of ten genres of speech and writing",
        note="MultiNLI stands under several terms: most of it under the OANC's, which allow any use; some "
        "fiction under CC BY 3.0 and CC BY-SA 3.0. Who publishes what was learnt from it has to decide.",
        citation="""@inproceedings{williams2018broad,
  title     = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},
  author    = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},
  booktitle = {Proceedings of NAACL-HLT},
  year      = {2018}
}""",
    )
)
register_source(
    DataSource(
        name="snli_counterfactual",
        about="Counterfactually augmented SNLI: pairs that were changed a little, until their label changed",
        licence="apache-2.0",
        note="It was made from sentences of SNLI, which is CC BY-SA 4.0.",
        citation="""@inproceedings{kaushik2020learning,
  title     = {Learning the Difference that Makes a Difference with Counterfactually-Augmented Data},
  author    = {Kaushik, Divyansh and Hovy, Eduard and Lipton, Zachary C.},
  booktitle = {ICLR},
  year      = {2020}
}""",
    )
)
register_source(
    DataSource(
        name="squad",
        about="SQuAD 1.1: questions about paragraphs of Wikipedia, each with an answer in its paragraph",
        licence="cc-by-sa-4.0",
        citation="""@inproceedings{rajpurkar2016squad,
  title     = {{SQuAD}: 100,000+ Questions for Machine Comprehension of Text},
  author    = {Rajpurkar, Pranav and Zhang, Jian and Lopyrev, Konstantin and Liang, Percy},
  booktitle = {Proceedings of EMNLP},
  year      = {2016}
}""",
    )
)
register_source(
    DataSource(
        name="worldtree",
        about="WorldTree: elementary science questions with the facts that explain their answers",
        note="The tables and explanations of WorldTree are CC BY-SA 4.0. The text of many of its questions "
        "(those called Mercury) may be used for non-commercial purposes only, and not be redistributed. The "
        "weights hold no text of them; whether they may be used commercially their publisher has to decide.",
        citation="""@inproceedings{xie2020worldtree,
  title     = {{WorldTree} {V2}: A Corpus of Science-Domain Structured Explanations and Inference Patterns
               supporting Multi-Hop Inference},
  author    = {Xie, Zhengnan and Thiem, Sebastian and Martin, Jaycie and Wainwright, Elizabeth and
               Marmorstein, Steven and Jansen, Peter},
  booktitle = {Proceedings of LREC},
  year      = {2020}
}""",
    )
)
