"""Parser of questions: the phrase that asks, and the clause around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from entail.claims import tags
from entail.claims.clauses import find_finite_verb
from entail.claims.lexicon import CLASSES
from entail.claims.tags import Token, Tokens, has_verb

_FOCUS = tags.PREPOSITIONS | CLASSES["focus"]
_ADVERBIAL = tags.PREPOSITIONS | CLASSES["adverbial"]
_SUBJECTS = tags.ARTICLES | tags.POSSESSIVES | tags.PERSONAL
_BEFORE_PLACED = frozenset({"by", "of", "since", "from", "until", "for", "with", "to"})


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """Parts of a question.

    `wh` is the question word, after "how" with "many", "much" or "degree"; `noun` the rest of the phrase that
    asks ("team" of "which team"); `preposition` binds it to the clause ("in" of "in which year"); `before` is
    context, which the claim keeps ("In 1998,"). A phrase in place stands where its answer would.
    """

    wh: str
    noun: tuple[Token, ...] = ()
    clause: tuple[Token, ...] = ()
    preposition: tuple[Token, ...] = ()
    before: tuple[Token, ...] = ()
    in_place: bool = False


def parse_question(tokens: Tokens) -> ParsedQuestion | None:
    """Return the parts of a question, None if no question word asks."""
    index = _find_question_word(tokens)
    if index is None:
        return None
    leading = index == 0 or tokens[index - 1].ends_phrase
    parsed = _parse_phrase(tokens[index:], leading=leading)
    return _parse_before(parsed, list(tokens[:index])) if index else parsed


def _find_question_word(tokens: Tokens) -> int | None:
    names = [at for at, token in enumerate(tokens) if token.low in tags.WH and not token.is_quoted]
    candidates = [at for at in names if not tokens[at].is_name]
    if not candidates:
        leads = (at for at in names if tokens[at - 1].ends_phrase or (at == 1 and tokens[0].is_preposition))
        return next(leads, None)
    if candidates[0] == 0:
        return _find_behind_clause(tokens, candidates[1:])
    rank, index = max((_rank(tokens, at), at) for at in candidates)
    return index if rank > 0 else None


def _find_behind_clause(tokens: Tokens, candidates: Sequence[int]) -> int:
    """Return the question word behind a clause that begins with one, else 0: "When it rains, what ..."."""
    if tokens[0].low not in {"when", "where"} or not candidates or tokens[1].is_auxiliary:
        return 0
    comma = next((at for at, token in enumerate(tokens) if token.ends_phrase), 0)
    inverted = (at for at in candidates if at > 2 and at + 1 < len(tokens) and tokens[at + 1].is_auxiliary)
    return next((at for at in reversed(candidates) if at > comma) if comma else inverted, 0)


def _rank(tokens: Tokens, index: int) -> int:
    """Return how surely a question word asks, 0 if it is a relative pronoun."""
    token, before = tokens[index], tokens[index - 1]
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    start = index
    while start and tokens[start - 1].low in _FOCUS and not tokens[start - 1].ends_phrase:
        start -= 1
    relative = token.low in {"which", "where", "who", "whose", "when"}
    if start == 0 or (tokens[start - 1].ends_phrase and not relative):
        return 5
    counts = token.low == "how" and after is not None and after.low in CLASSES["degrees"] | {"many", "much"}
    if token.low in {"what", "whom", "why"} or counts or after is None:
        return 4
    stated = has_verb(tokens[:index])
    if tokens[start - 1].ends_phrase:
        return 2 if start == index and stated and not _is_led(tokens) else 5
    if token.low == "which":
        loose = not (after.is_finite or after.is_auxiliary or after.low in tags.DETERMINERS | tags.PRONOUNS)
        return 3 if before.is_preposition or before.is_auxiliary else int(loose)
    if after.low == "else" or (before.low in _BEFORE_PLACED) or (stated and after.is_preposition):
        return 3
    if token.low == "who":
        return int(tokens[0].low in _ADVERBIAL and not stated)
    return int(after.is_auxiliary)


def _parse_before(parsed: ParsedQuestion, head: list[Token]) -> ParsedQuestion:
    """Split the tokens before the question word into context, statement and preposition."""
    comma = max((at for at, token in enumerate(head) if token.ends_phrase), default=-1)
    near = head[comma + 1 :]
    verb = next((token for token in parsed.clause if not token.is_adverb), None)
    verbal = verb is not None and (verb.is_auxiliary or verb.is_finite or verb.base_share > 0.1)
    if all(token.low in _FOCUS and not token.is_name for token in near) and (verbal or comma < 0):
        return replace(parsed, preposition=tuple(near), before=tuple(head[: comma + 1]))
    cut = len(near)
    while cut and near[cut - 1].is_preposition:
        cut -= 1
    preposition, before = tuple(near[cut:]), tuple(head[: comma + 1] + near[:cut])
    placed = replace(parsed, preposition=preposition, before=before, in_place=True)
    stated = has_verb(near[:cut])
    if not verbal or (head[-1].low in {"and", "or"} and head[0].low not in tags.PREPOSITIONS):
        return placed
    partitive = bool(preposition) and preposition[0].low in {"of", "to", "in", "for"} and cut > 0
    if partitive and comma < 0 and not stated:
        return replace(parsed, preposition=tuple(near), before=())
    lows = [token.low for token in parsed.clause[:2]]
    inverted = parsed.clause[0].is_auxiliary and lows[0] in tags.DO and lows[1:] != ["not"]
    leads = before[0].low in _ADVERBIAL or (before[0].is_adverb and not has_verb(before))
    leads = leads or (len(before) > 2 and _is_led(before))
    if not inverted and ((comma < 0 and not leads) or (stated and not _is_led(near))):
        return placed
    return replace(parsed, preposition=preposition, before=before)


def _is_led(tokens: Tokens) -> bool:
    """Return whether tokens begin as a phrase of time, place or circumstance does."""
    return tokens[0].low in _ADVERBIAL or tokens[0].may_be("ing") or tokens[0].may_be("participle")


def _parse_phrase(tokens: Tokens, *, leading: bool) -> ParsedQuestion:
    """Parse a question that begins with its question word."""
    wh, tail = tokens[0].low, tuple(tokens[1:])
    if wh == "how":
        return _parse_how(tail, leading=leading)
    cut = 0
    if wh in {"when", "where", "why", "who", "whom"}:
        bound = bool(tail) and wh in {"when", "where"} and tail[0].is_preposition
        if bound or (tail and tail[0].low in {"else", "besides", "except", "among"}):
            cut = next((at for at, token in enumerate(tail) if token.is_auxiliary or token.is_finite), 0)
    elif tail and not (tail[0].is_auxiliary or tail[0].low in tags.PERSONAL | {"to", "about"}):
        alone = wh != "whose" and _begins_with_verb(tail, leading=leading)
        cut = 0 if alone else _find_noun_end(tail)
    return ParsedQuestion(wh, tail[:cut], tail[cut:])


def _parse_how(tail: tuple[Token, ...], *, leading: bool) -> ParsedQuestion:
    if not tail:
        return ParsedQuestion("how")
    first, low = tail[0], tail[0].low
    if low == "come":
        return ParsedQuestion("why", clause=tail[1:])
    if low in {"many", "much"}:
        if low == "much" and len(tail) > 1 and (tail[1].is_auxiliary or tail[1].is_finite):
            return ParsedQuestion("how much", clause=tail[1:])
        cut = _find_noun_end(tail[1:]) + 1
        times = len(tail) > 2 and tail[1].low == "times"
        compared = tail[2:3] if times else tail[1:2]
        graded = bool(compared) and (compared[0].low in {"more", "fewer", "less"})
        if compared and (times or low == "much"):
            graded = graded or compared[0].low in {"too", "longer"}
            graded = graded or (compared[0].low.endswith("er") and compared[0].is_adjective)
        kind, start = ("how degree", 0) if graded and leading else (f"how {low}", 1)
        return ParsedQuestion(kind, tail[start:cut], tail[cut:])
    if not first.is_auxiliary and (low in CLASSES["degrees"] or first.is_adjective or first.is_adverb):
        verb = next((at for at, token in enumerate(tail) if at and token.is_auxiliary), None)
        verb = verb or next((at for at, token in enumerate(tail) if at and token.is_finite), 1)
        return ParsedQuestion("how degree", tail[:verb], tail[verb:])
    return ParsedQuestion("how", clause=tail)


def _find_noun_end(tail: Tokens) -> int:
    """Return where the noun phrase behind a question word ends and its verb, or a subject, begins."""
    verb = find_finite_verb(tail, first=0 if tail and tail[0].is_auxiliary else 1)
    if verb is None:
        return len(tail)
    # An indirect question has its subject before the verb: "which year | the mill was built".
    subjects = (at for at in range(1, verb) if tail[at].low in _SUBJECTS and tail[at - 1].ends_noun_phrase)
    if (subject := next(subjects, None)) is not None:
        return subject
    fixed = tags.TIME_ADVERBS | {"all", "long"} if tail[verb].is_auxiliary else {"all"}
    while verb > 1 and tail[verb - 1].is_adverb and tail[verb - 1].low not in fixed:
        verb -= 1
    return verb


def _begins_with_verb(tail: Tokens, *, leading: bool) -> bool:
    """Return whether "what" stands alone before its verb: "what caused", "what makes"."""
    first, after = tail[0], tail[1] if len(tail) > 1 else None
    third, opened = first.third_share, after is not None and (after.is_name or after.opens_phrase)
    if after is None:
        return first.may_be("past") or third >= 0.45
    if first.is_opaque or after.is_auxiliary or after.low == "of":
        return first.low in {"this", "that", "these", "those"}
    if first.may_be("past"):
        asks_object = any(token.low in tags.DO for token in tail[1:5])  # "what hit song did she sing"
        return not asks_object and (opened or first.base_share == 0)
    if third >= 0.45 or (third and after.low in tags.ARTICLES | {"that"}):
        return True
    if first.is_adverb and first.low != "all":
        following = next((token for token in tail[1:] if not token.is_adverb), after)
        return following.is_finite or following.third_share > 0
    owned = after.low in tags.ARTICLES | tags.POSSESSIVES and first.low.endswith("s")
    verbal = third > 0 or first.base_share >= 0.2 or owned
    if leading and verbal and len(tail) > 2 and not has_verb(tail[1:]):
        return opened or (third > 0 and all(token.base_share <= 0.3 for token in tail[1:]))
    return first.low in tags.DETERMINERS - {"another", "all"}
