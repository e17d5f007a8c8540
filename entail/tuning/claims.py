"""A question as the claim that its answer exists (existence claim), by rules.

A passage is relevant to a question when it entails the question's claim: p -> a -> c. Each rule of `RULES`
is a line of a grammar: what the question looks like, and what is claimed. SUBJECT and PREDICATE change
places with the verb, "did" gives its tense to the verb ("did win" -> "won"), all other words stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from entail.data.multiple_choice import choices
from entail.tuning import lexicon
from entail.tuning.asking import asked
from entail.tuning.broken_off import broken_off, completed, filled, may_break_off
from entail.tuning.clauses import core, has_verb, is_auxiliary
from entail.tuning.existence import BY_WORD, asks_how_much, fronted
from entail.tuning.expanded import expanded, untokenized
from entail.tuning.in_place import bare_in_place, in_place, is_base
from entail.tuning.joined import (
    ASKED_FOR,
    OPENINGS,
    after_statements,
    begins_asking,
    labelled,
    offered,
    opening,
    run_on,
    second,
)
from entail.tuning.kept import lost
from entail.tuning.no_question_word import no_question, whether
from entail.tuning.phrases import NUMBERS, known, lowered
from entail.tuning.question_phrase import Asked
from entail.tuning.rules import FALLBACK
from entail.tuning.words import (
    ADVERBS,
    DETERMINERS,
    PREPOSITIONS,
    SUBORDINATORS,
    TIME_ADVERBS,
    WH,
    Words,
    is_adverb,
    is_plural,
    is_preposition,
    text_of,
    words_of,
)

MAX_WORDS = 600
"""Longer sentences are not taken apart: nobody asks so."""

MAX_SENTENCES = 20
"""More of them in one question are taken for one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A question's existence claim.

    Attributes:
        question: As it was asked.
        text: The claim: one or more sentences, none a question.
        rule: The name of the rule that fired; of several questions in one, the last one's.
    """

    question: str
    text: str
    rule: str

    @property
    def fallback(self) -> bool:
        """Whether no rule for questions fitted."""
        return self.rule in FALLBACK


_ENDS = re.compile(r"[?\uff1f؟]+[\"”']*(?=\s|$)|[\uff1f؟]+")


_SWEARING = re.compile(
    r"""^((?:wh\w+|how)\b)[ ]the[ ](?:hell|heck|fuck)\b
      | ^((?:what|how|why)\b)[ ](?:on[ ](?-i:earth)|in[ ]the[ ](?-i:world))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""What only makes a question word stronger: no part of what it asks."""


_NO_PREFIX_MOVE = lexicon.word_class("no_prefix_move")


POLITE = re.compile(
    r"""^(?:(?:can|could|would|will)[ ](?:you|someone|anyone|anybody)(?:[ ]please)?
        (?=[ ](?:tell|explain|describe|say|name|list|give|define))
      | do[ ]you[ ](?:happen[ ]to[ ])?know | does[ ]any(?:one|body)[ ]know | tell[ ](?:me|us) | say
      | i(?:[ ]would|'d)?[ ](?:like|want|need)[ ]to[ ]know
      | i(?:(?:'m|[ ]am|[ ]was)[ ](?:just[ ])?wondering|[ ]wonder)
      | any[ ](?:ideas?|clues?)
      | (?:hi|hello|hey|thanks|thank[ ]you)(?:[ ](?:all|there|everyone|guys|in[ ]advance))?[,!.]
      | please)[ ]""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a question begins that is asked politely: no part of what it asks."""


def claim(question: str) -> Claim:
    """Return the claim of a question, whatever it looks like.

    >>> claim("When did the Broncos win the Super Bowl?").text
    'There exists a known time when the Broncos won the Super Bowl.'
    >>> claim("What makes it fall? (A) gravity (B) a rope").text
    'There exists a known thing that makes it fall: gravity or a rope.'
    >>> claim("who plays the mom on modern family").rule
    'who'
    """
    stem, told = choices(question)
    if told and stem:
        of_stem = claim(stem)
        *most, last = (text.rstrip(". ") for text in told.values())
        options = f"{', '.join(most)} or {last}"
        return replace(of_stem, question=question, text=f"{of_stem.text.rstrip('.!')}: {options}.")
    rule = "topic"
    parts: list[str] = []
    sentences = sentences_of(question)
    for piece in sentences if len(sentences) <= MAX_SENTENCES else [" ".join(sentences)]:
        if parts and all(word.low in ASKED_FOR for word in words_of(piece)):
            continue  # "What is it? Explain."
        stated, sentence = after_statements(piece)
        if stated:
            parts.append(sentence_of(stated))
        said, rule = _broken_off(sentence, of=question) or _claim(sentence)
        if rule == "statement" and _marked(question):
            said, rule = f"It is known whether {lowered(words_of(said))}", "whether"
        placed = bare_in_place(words_of(sentence)) if rule in FALLBACK and _marked(question) else None
        said, rule = (placed, "in place") if placed else (said, rule)
        said = sentence_of(said)
        if lost(plain(sentence), said):  # no rule was made for this: rather say little than something else
            said, rule = sentence_of(f"There exists something known about {sentence}"), "topic"
        parts.append(said)
    return Claim(question, " ".join(parts) or "There exists something known.", rule)


def _marked(question: str) -> bool:
    """Whether a text ends in a question mark."""
    return question.rstrip(" \"'”").endswith(("?", "\uff1f"))


def plain(sentence: str) -> str:
    """Return what is asked, without the words that ask it politely.

    >>> plain("Can you please tell me where it is"), plain("Do you know the muffin man")
    ('where it is', 'Do you know the muffin man')
    """
    sentence = rest = _SWEARING.sub(r"\1\2", sentence)
    while polite := POLITE.match(rest):
        rest = rest[polite.end() :]
    words = words_of(rest) if rest != sentence else []
    asks = words and (begins_asking(words) or words[0].low in ASKED_FOR | {"about", "if", "whether"})
    return re.sub(r"^if\b", "whether", rest) if asks else sentence


def _broken_off(sentence: str, *, of: str) -> tuple[str, str] | None:
    words = words_of(sentence)
    if of.rstrip().endswith(sentence) and words[0].low not in ASKED_FOR and may_break_off(sentence, words):
        said = filled(words) or broken_off(words)
        return (said, "open end") if said else None
    return None


def sentences_of(question: str) -> list[str]:
    """Return the questions in a text, one or more, without their question marks."""
    text = re.sub(r"(?<=[A-Za-z]),(?=[A-Za-z])", ", ", question.replace("¿", " ").replace("¡", " ")).strip()
    quoted = re.match(r'"((?:[^"]|"")+)"\s*\?*$', text)
    if quoted and begins_asking(words_of(quoted[1]) or words_of("x")):
        text = quoted[1].replace('""', '"')
    text = re.sub(r"(?<=[a-z])\.{3,}(?=[A-Za-z])", "... ", untokenized(text))
    text = re.sub(r"[?\uff1f]+([\"\u201d')]+)(?=\s+[a-z])", r"\1", text)  # a question that is quoted
    text = re.sub(r"([?\uff1f]+)([\"\u201d')]+)", r"\2\1", text)
    pieces = [piece.strip() for piece in _ENDS.split(text)]
    return [piece for piece in pieces if any(c.isalnum() for c in piece)] or (
        [text] if any(c.isalnum() for c in text) else []
    )


def sentence_of(text: str) -> str:
    """Write a text as a sentence: with a capital, a full stop, no question mark."""
    text = re.sub(r"[?\uff1f؟]+", "", text).strip().rstrip(",;:-\u2013 ").rstrip()
    text = re.sub(r"\s+([,;:]|\.(?!\w))", r"\1", text)
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", '."', ".”")) else f"{text}."


def _claim(sentence: str) -> tuple[str, str]:
    sentence = plain(sentence)
    words = expanded(words_of(sentence))
    if len(words) > 1 and words[0].low == "whether":
        return f"It is known {lowered(words)}", "whether"
    if not words or len(words) > MAX_WORDS:
        return f"There exists something known about {sentence}", "topic"
    if words[0].low in ASKED_FOR:
        found = _imperative(words)
        if found:
            return found, "imperative"
    options = offered(words)
    if options:
        said, rule = _claim(text_of(words[:options]).rstrip(",;:"))
        return f"{said}: {text_of(words[options:])}", rule
    label = labelled(words)
    if label:
        said, rule = _claim(text_of(words[label:]))
        return f"{text_of(words[:label])} {said[:1].lower()}{said[1:]}", rule
    start = opening(words)
    if start:
        said, rule = _claim(text_of(words[start:]))
        return f"{text_of(words[:start])} {said[:1].lower()}{said[1:]}", rule
    behind = run_on(words)
    if behind:
        said, rule = _claim(text_of(words[behind:]))
        told = text_of(words[:behind])
        told = _claim(told.rstrip(","))[0] if begins_asking(words) else told
        return f"{sentence_of(told)} {sentence_of(said)}", rule
    two = second(words)
    if two:
        said, rule = _claim(text_of(words[:two]).rstrip(","))
        other, _ = _claim(text_of(words[two + 1 :]))
        return f"{sentence_of(said)} {sentence_of(other)}", rule
    tail = words[-1].low
    if len(words) > 2 and words[0].low == "who" and tail in {"whom", "what"} and has_verb(words[1:-1]):
        said, rule = _claim(text_of(words[:-1]))
        return f"{said} {'something known' if tail == 'what' else 'a known person'}", rule
    if (
        len(words) > 4
        and words[-3].low == "and"
        and is_preposition(words[-2])
        and tail in {"whom", "who", "what"}
    ):
        said, rule = _claim(text_of(words[:-3]).rstrip(","))
        return f"{said} {words[-2].text} {'something known' if tail == 'what' else 'a known person'}", rule
    if (
        len(words) > 3
        and tail in _AT_END
        and words[-2].low == "and"
        and words[0].low in WH
        and words[1].low != "and"
    ):
        said, rule = _claim(text_of(words[:-2]).rstrip(","))
        return f"{said} {_AT_END[tail]}", rule
    first = words[0]
    if (
        is_auxiliary(first)
        and len(words) > 1
        and not (first.low in {"will", "may"} and words[1].name is False and words[1].low in {"of", "is"})
    ):
        inner = asked(words)
        if inner is None or inner.placed is False or not inner.before:
            words[0] = replace(first, text=first.text.lower())
            return whether(words)
    parts = asked(words)
    if parts is None:
        whole = filled(words) or completed(words)
        return _after_comma(words) or ((whole, "open end") if whole else no_question(words))
    said, rule = _said(parts)
    return with_before(said, replace(parts, before=()) if rule == "in place" else parts), rule


_AT_END = {
    "when": "at a known time",
    "where": "at a known place",
    "why": "for a known reason",
    "how": "in a known way",
}


APPROXIMATE = lexicon.word_class("approximate")


def _said(parts: Asked) -> tuple[str, str]:
    """Return the claim of the asking part, and the rule."""
    if parts.wh in {"what", "how"} and not (parts.noun or parts.front or parts.placed):
        verbal = has_verb(parts.rest)
        if len(parts.rest) > 1 and parts.rest[0].low == "about" and not verbal:
            return f"There exists something known {text_of(parts.rest)}", "topic"
    if parts.placed:
        return in_place(parts), "in place"
    to = parts.rest[1:] if parts.rest and parts.rest[0].low == "not" else parts.rest
    if len(to) > 1 and to[0].low == "to" and not parts.front and is_base(to[1]):
        kind = {
            "how": "way",
            "where": "place",
            "when": "time",
            "who": "person",
            "whom": "person",
            "why": "reason",
        }
        noun = known(parts.noun) if parts.noun else f"There exists a known {kind.get(parts.wh, 'thing')}"
        return f"{noun} {text_of(parts.rest)}", "infinitive"
    bound = parts.front and parts.front[0].low not in PREPOSITIONS | ADVERBS | APPROXIMATE | {
        "according",
        "prior",
        "together",
    }
    if bound and parts.rest and core(parts.rest).gap == "subject":
        return in_place(parts), "in place"
    bound_by = [word.low for word in parts.front] == ["about"] and not asks_how_much(parts)
    if parts.front and (bound_by or not all(word.low in APPROXIMATE for word in parts.front)):
        return fronted(parts), "preposition"
    said, rule = BY_WORD[parts.wh](parts)
    about = [word.low for word in parts.front if word.low not in {"about", "around", "and"}]
    return (re.sub("^(There exists?) ", rf"\1, {' '.join(about)}, ", said) if about else said), rule


def with_before(said: str, parts: Asked) -> str:
    """Add what stood before the question: "In 1998, who won" -> "... who won in 1998"."""
    if parts.extra:
        said = f"{said} {text_of(parts.extra).rstrip(',')}"
    if not parts.before or parts.placed:
        return said
    text, middle = lowered(parts.before).rstrip(", "), lowered(words_of(said))
    first = parts.before[0].low
    second = parts.before[1].low if len(parts.before) > 1 else ""
    if first in _NO_PREFIX_MOVE or (first == "in" and second == "addition"):
        return f"{text}, {middle}"
    last, verbal = parts.before[-1].low, has_verb(parts.before)
    if last in {"but", "so", "yet"} or (last in OPENINGS and verbal):
        return f"{text} {middle}"
    moving = first in PREPOSITIONS | SUBORDINATORS | TIME_ADVERBS | {
        "as",
        "once",
        "prior",
        "due",
        "rather",
        "to",
    }
    adverb = is_adverb(parts.before[0]) and (not second or lexicon.is_ing(second) or second in PREPOSITIONS)
    done = bool(lexicon.base_of_participle(first)) and not lexicon.is_regular_guess(first)
    if (done or lexicon.is_ing(first)) and not moving:
        return f"{said}, {text[:1].lower()}{text[1:]}"
    if moving or adverb or lexicon.base_of_participle(first):
        return f"{said} {text}"
    if is_adverb(parts.before[0]):
        return f"{text}, {middle}"
    if text.endswith((".", "!")):
        return f"{text} {said}"
    return f"Concerning {text}, {middle}"


_INDEFINITE = frozenset({"something", "someone", "anything", "one", "somebody"})


_RENAMED = {
    "describe": "description",
    "explain": "explanation",
    "define": "definition",
    "compare": "comparison",
    "discuss": "discussion",
}


def _imperative(words: Words) -> str | None:
    verb, rest = words[0].low, list(words[1:])
    while rest and rest[0].low in {"me", "us", "out"}:
        rest = rest[1:]
    if not rest or is_auxiliary(rest[0]) or rest[0].low == "of":
        return None
    listed = (verb == "list" and is_plural(rest)) or (verb in {"list", "state"} and rest[0].possessive)
    if (
        verb not in {"name", *_RENAMED}
        and not listed
        and rest[0].low not in DETERMINERS | WH | NUMBERS | _INDEFINITE
    ):
        return None
    if rest[0].low in WH:
        inner = asked(rest)
        return _said(inner)[0] if inner else None
    if verb in _RENAMED:
        return f"There exists a known {_RENAMED[verb]} of {text_of(rest)}"
    if rest[0].low in _INDEFINITE - {"one"}:
        return f"There exists {rest[0].low} known {text_of(rest[1:])}"
    return known(rest)


def _after_comma(words: Words) -> tuple[str, str] | None:
    """Take "In 1972, did Norway join" and "Other than the first, name one"."""
    cut = next((at + 1 for at in range(len(words) - 2, -1, -1) if words[at].comma), None)
    if cut is None:
        return None
    tail = words[cut:]
    before = Asked("", before=tuple(words[:cut]))
    if is_auxiliary(tail[0]) and words[0].low in PREPOSITIONS | SUBORDINATORS:
        said, rule = whether(tail)
        return with_before(said, before), rule
    if tail[0].low in ASKED_FOR and len(tail) > 1:
        found = _imperative(tail)
        return (with_before(found, before), "imperative") if found else None
    return None
