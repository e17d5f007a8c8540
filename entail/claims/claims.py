"""Existence claims of questions, and statements of questions with their answers.

A passage is relevant to a question when it entails the question's claim: p -> a -> c. The pipeline reads a
question as tokens, finds the phrase that asks, the subject and the verb group, and rewrites the clause. In a
statement the answer takes the place of what is asked for where the parse shows that place. Else the claim
says what the answer is ("Rio Tinto is the German company that owns the mine."), or the answer follows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from entail.claims import lexicon, tags
from entail.claims.clauses import (
    UnclearClauseError,
    begins_predicate,
    find_base_verb,
    find_participle,
    order_clause,
    order_relative,
)
from entail.claims.lexicon import CLASSES
from entail.claims.openings import ask_directly, strip_labels
from entail.claims.parse import ParsedQuestion, parse_question
from entail.claims.rules import (
    COUNTS,
    FALLBACK,
    KINDS,
    add_context,
    binding_of,
    claim_noun,
    claim_question,
    is_attribute,
    lower_first,
    with_space,
)
from entail.claims.tags import (
    Token,
    Tokens,
    expand_contractions,
    has_verb,
    is_plural,
    join,
    missing_words,
    split_sentences,
    tokenize,
    write_sentence,
)
from entail.data.worldtree.questions import choices

MAX_LENGTH = 2_000  # longer texts, in characters, get the general claim, since no question is that long

BLANK = re.compile(r"_{2,}|\.{4,}")  # a gap drawn in a text: "____ helps"

_NEXT_QUESTION = re.compile(r",? and (?=(?:wh[aeioy]\w*|how) )")

_OPEN_ENDS = tags.PREPOSITIONS | tags.CONJUNCTIONS | tags.BE | {"be", "called", "named"}


@dataclass(frozen=True, slots=True)
class Claim:
    """Existence claim of a question: sentences of which none is a question, and the (last) rule's name."""

    question: str
    text: str
    rule: str

    @property
    def fallback(self) -> bool:
        """Whether no rule for questions applied."""
        return self.rule in FALLBACK


def existence_claim(question: str) -> Claim:
    """Return the claim of a question, whatever it looks like.

    >>> existence_claim("When did the Broncos win the Super Bowl?").text
    'There exists a known time when the Broncos won the Super Bowl.'
    >>> existence_claim("What makes it fall? (A) gravity (B) a rope").text
    'There exists a known thing that makes it fall: gravity or a rope.'
    """
    if len(question) > MAX_LENGTH:
        return Claim(question, write_sentence(f"There exists something known about {question}"), "general")
    stem, options = choices(strip_labels(question))
    if options and stem:
        inner = existence_claim(stem)
        *most, last = (text.rstrip(". ") for text in options.values())
        text = f"{inner.text.rstrip('.!')}: {', '.join(most)} or {last}."
        return replace(inner, question=question, text=text)
    sentences = split_sentences(stem)
    rule, parts = "general", []
    for index, sentence in enumerate(sentences):
        if index + 1 < len(sentences) and sentence.endswith((".", "!", '."', ".”")):
            parts.append(write_sentence(sentence))  # a statement before the question
            continue
        for question_part in _split_questions(sentence):
            text, rule = _claim_sentence(question_part)
            parts.append(write_sentence(text))
    return Claim(question, " ".join(parts) or "There exists something known.", rule)


def _split_questions(sentence: str) -> list[str]:
    """Return the questions of a sentence: two of "Who wrote the play, and when was it performed"."""
    parts = _NEXT_QUESTION.split(sentence)
    first, *following = (tokenize(part) for part in parts)
    whole = first[:1] and first[0].low in tags.WH and any(token.is_verb for token in first[1:])
    return parts if whole and all(_asks(tokens) for tokens in following) else [sentence]


def _asks(tokens: Tokens) -> bool:
    """Whether a verb follows the question word, so that the words are a question of their own."""
    return len(tokens) > 2 and (tokens[1].is_auxiliary or (tokens[0].low == "who" and tokens[1].is_verb))


def _claim_sentence(sentence: str) -> tuple[str, str]:
    """Return the claim of one sentence without its question mark, and the name of the rule."""
    sentence = ask_directly(sentence)
    tokens = expand_contractions(tokenize(sentence))
    try:
        text, rule = _claim_tokens(tokens)
    except UnclearClauseError:
        text = ""
    if text and not missing_words(sentence, text):
        return text, rule
    return f'There exists a known answer to "{sentence}"', "general"


def _claim_tokens(tokens: Tokens) -> tuple[str, str]:
    first = tokens[0]
    requested = _claim_request(tokens) if first.low in CLASSES["requests"] and len(tokens) > 1 else None
    if requested:
        return requested
    if first.low == "whether" and len(tokens) > 1:
        return f"It is known whether {join(tokens[1:])}", "whether"
    parsed = parse_question(tokens)
    placed = parsed is not None and parsed.in_place and parsed.wh in {"what", "which", "whom"}
    if first.is_auxiliary and len(tokens) > 1 and not placed:
        return _claim_whether(tokens)
    if parsed is None:
        return _claim_other(tokens)
    text, rule = claim_question(parsed)
    return (text if rule == "in place" else add_context(text, parsed.before)), rule


def _claim_request(tokens: Tokens) -> tuple[str, str] | None:
    """Return the claim of "Name ..." or "List ...", None if the word asks for nothing."""
    verb, rest = tokens[0].low, list(tokens[1:])
    while len(rest) > 1 and rest[0].low in {"me", "us", "out"}:
        rest = rest[1:]
    if rest[0].low in tags.WH:
        return _claim_tokens(rest)
    named = verb in {"name", "list"} or rest[0].low in tags.DETERMINERS | CLASSES["numbers"] | {"one"}
    return (claim_noun(rest), "what") if named and not rest[0].is_auxiliary and rest[0].low != "of" else None


def _claim_whether(tokens: Tokens) -> tuple[str, str]:
    first = replace(tokens[0], text=tokens[0].text.lower())
    clause = order_clause([first, *tokens[1:]])
    if clause.is_sure:
        return f"It is known whether {clause.text}", "whether"
    return f"There exists something known about {join(tokens[1:])}", "general"


def _claim_other(tokens: Tokens) -> tuple[str, str]:
    """Return the claim of a text without a question word."""
    cut = next((at + 1 for at in range(len(tokens) - 1) if tokens[at].ends_phrase), 0)
    if cut and len(tokens) > cut + 1 and tokens[cut].is_auxiliary:  # "In 1972, did Norway join"
        text, rule = _claim_whether(tokens[cut:])
        return add_context(text, tokens[:cut]), rule
    if any(BLANK.search(token.text) for token in tokens):
        return BLANK.sub("something known", lower_first(tokens)), "in place"
    if len(tokens) > 2 and tokens[-1].low in _OPEN_ENDS and any(token.is_verb for token in tokens):
        return f"{join(tokens)} something known", "in place"
    if any(token.is_auxiliary for token in tokens[1:-1]):
        return join(tokens), "general"
    return f"There exists something known about {lower_first(tokens)}", "general"


Placement = Literal["inserted", "identified", "appended", "answer", "claim"]
"""Place of the answer: of the question word; as what the claim names; behind it; a statement itself; none."""

MAX_ANSWER = 60  # words; longer answers follow the claim

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_ON = re.compile(rf"(?:\w+day,? ?)?(?:(?:{_MONTH} \d{{1,2}}|\d{{1,2}} {_MONTH})\b.*)?$")
_IN = re.compile(
    rf"(?:about |around )?\d{{3,4}}(?: (?:BCE?|AD|CE))?$|{_MONTH}(?:,? \d{{4}})?$|(?:early|mid|late)\b"
    r"|(?:the )?.*\b(?:century|centuries|decade|millennium|\d+s|spring|summer|autumn|winter)\b"
)
_BARE_TIME = re.compile(r".* ago$|(?:every|each|once|twice|last|next|this) ", re.IGNORECASE)
_NAMED = re.compile(
    r"There (exists?) (?:an? |\w+ )?known "
    r"(?!(?:time|place|reason|way|measure) (?:wh|in))(.+ (?:that|who\w*|which) .+)"
)
_NUMBER = re.compile(r"[$€£~<>]?\s?\d")
_SMALL = CLASSES["numbers"] | CLASSES["large_numbers"]
_DENIALS = {"yes": False, "true": False, "correct": False, "no": True, "not": True, "false": True}


@dataclass(frozen=True, slots=True)
class Statement:
    """Statement of a question and its answer, with the rule of the claim and the place of the answer."""

    question: str
    answer: str
    text: str
    rule: str
    how: Placement


def state_answer(question: str, answer: str) -> Statement:
    """Return what a question says with its answer; without one, its claim.

    >>> state_answer("When did the Broncos win the Super Bowl?", "1998").text
    'The Broncos won the Super Bowl in 1998.'
    >>> state_answer("What makes it fall? (A) gravity (B) a rope", "A").text
    'Gravity makes it fall.'
    >>> state_answer("How do plants make food?", "photosynthesis").text
    'There exists a known way in which plants make food: photosynthesis.'
    """
    plain = strip_labels(question[:MAX_LENGTH])
    stem, options = choices(plain)
    if options and stem and answer.strip():
        inner = state_answer(stem, options.get(answer.strip(" ().").upper(), answer))
        return replace(inner, question=question, answer=answer)
    claim, bare = existence_claim(question), " ".join(answer.split())
    bare = bare if bare.count(".") > 1 else bare.rstrip(".! ")
    if not any(character.isalnum() for character in bare):
        return Statement(question, answer, claim.text, claim.rule, "claim")
    *context, last = split_sentences(plain) or [""]
    last = ask_directly(last)
    short = len(bare.split()) <= MAX_ANSWER and len(question) <= MAX_LENGTH
    if not last or (short and has_verb(tokenize(f"x {bare}")[2:]) and not missing_words(question, bare)):
        return Statement(question, answer, write_sentence(bare), claim.rule, "answer")
    if short and not re.search(r"[a-z][.!?] [A-Z]|\n|[?:;]", bare):
        if inserted := _insert(last, bare, claim):
            text = " ".join(write_sentence(part) for part in [*context, inserted])
            return Statement(question, answer, text, claim.rule, "inserted")
        if identified := None if context else _identify(claim, bare):
            return Statement(question, answer, identified, claim.rule, "identified")
    text = write_sentence(f"{claim.text.rstrip('.!')}: {bare}")
    return Statement(question, answer, text, claim.rule, "appended")


def _insert(sentence: str, answer: str, claim: Claim) -> str | None:
    """Return a sentence with the answer in the place of what it asks for, None if the place is not sure."""
    tokens = expand_contractions(tokenize(sentence))
    if claim.rule == "whether":
        return _confirm(tokens, answer)
    if BLANK.search(sentence):
        return BLANK.sub(lambda _: answer, sentence)
    parsed = parse_question(tokens)
    if parsed is None:  # "A decomposer is an organism that"
        opened = claim.rule == "in place" or (has_verb(tokens) and sentence[:1].isupper())
        return f"{sentence} {answer}" if opened and sentence[-1].isalnum() else None
    words = tokenize(answer)
    title = words[0].low not in tags.DETERMINERS and any(token.is_name for token in words[1:])
    inner = answer if title else lower_first(words)
    try:
        text = _replace(parsed, inner) if parsed.in_place else _fill(parsed, inner)
    except UnclearClauseError:
        return None
    replaced = {token.low for token in parsed.noun} if len(parsed.noun) < 3 else set()
    if not text or set(missing_words(sentence, text)) - replaced:
        return None
    return text if parsed.in_place else add_context(text, parsed.before)


def _replace(parsed: ParsedQuestion, answer: str) -> str | None:
    """Return a statement with the answer instead of its question word."""
    twice = bool(parsed.preposition) and tokenize(answer)[0].is_preposition
    if twice or parsed.wh not in {"what", "which", "who", "whom", "when", "where"} or len(parsed.noun) > 1:
        return None
    before = lower_first([*parsed.before, *parsed.preposition]).removesuffix(" a").removesuffix(" an")
    phrase = answer if parsed.preposition or parsed.noun else _phrase(parsed, answer)
    return f"{before} {phrase}{with_space(parsed.clause)}" if phrase else None


def _fill(parsed: ParsedQuestion, answer: str) -> str | None:
    """Return the clause with the answer in it."""
    clause, noun = parsed.clause, [token for token in parsed.noun if token.low not in tags.ARTICLES]
    if not clause or (noun and noun[0].low == "else") or any(token.low == "do" for token in clause[1:]):
        return None
    ordered, several = order_clause(clause), _is_number(answer) and answer.lower() not in {"1", "one"}
    if parsed.preposition:
        front = lower_first(parsed.preposition)
        value = f"{answer}{with_space(noun)}" if several and parsed.wh == "how many" else answer
        plain = all(token.is_preposition for token in parsed.preposition) and ordered.is_sure
        repeated = tokenize(answer)[0].is_preposition or ordered.text.endswith(f" {front}")
        sure = plain and (len(noun) < 2 or value != answer)
        return f"{ordered.text} {value if repeated else f'{front} {value}'}" if sure else None
    if parsed.wh in KINDS and not noun:
        phrase = _phrase(parsed, answer) if clause[0].is_auxiliary else None
        return f"{ordered.text} {phrase}" if phrase and (ordered.is_sure or parsed.wh != "how") else None
    if parsed.wh in COUNTS and several and (parsed.wh == "how many" or not noun):
        if len(clause) > 1 and clause[0].low in tags.BE and clause[1].low == "there":
            return f"there {clause[0].low} {answer}{with_space(noun)}{with_space(clause[2:])}"
        return _fill_noun(clause, f"{answer}{with_space(noun)}")
    if parsed.wh in {"who", "whom"} or (parsed.wh in {"what", "which"} and not noun):
        return _fill_noun(clause, answer, person=parsed.wh != "what")
    binding = binding_of(parsed)
    if parsed.wh in {"what", "which"} and binding and len(noun) == 1 and clause[0].is_auxiliary:
        phrase = _phrase(replace(parsed, wh="when"), answer) or f"{binding} {answer}"
        return f"{ordered.text} {phrase}" if ordered.is_sure else None
    attribute = len(noun) == 1 and is_attribute(parsed) and not ordered.is_sure
    return f"{ordered.text} {answer}" if attribute else None


def _fill_noun(clause: Tokens, answer: str, *, person: bool = False) -> str | None:
    """Return a clause with a noun phrase as its subject, or behind the verb that lacks its object."""
    ordered, rest = order_relative(clause, person=person), list(clause[1:])
    verb, equates = clause[0], clause[0].low in tags.BE and len(clause) > 1
    words = tokenize(f"x {answer}")[1:]
    double = any(token.low in CLASSES["ditransitive"] for token in rest)
    if double or words[0].may_be("past") or has_verb(words[1:]):
        return None
    if ordered.gap == "subject":
        if equates and clause[1].low == "there":
            return None
        if equates and not begins_predicate(rest, person=person):
            return f"{lower_first(rest)} {verb.low} {answer}"
        return f"{answer}{with_space([_agree(verb, words), *rest])}"
    index = find_participle(rest) if verb.low in tags.HAVE else find_base_verb(rest)
    if ordered.is_stranded or equates:
        index = len(rest) - 1 if ordered.is_stranded or rest[-1].low in tags.NAMING else None
    behind = rest[index + 1 :] if index is not None else []
    if index is None or (behind and (not behind[0].opens_phrase or behind[0].low == "to")):
        return None
    filled = order_clause([verb, *rest[: index + 1], Token(answer, answer.lower(), True, True), *behind])
    return filled.text if filled.is_sure else None


def _agree(verb: Token, subject: Tokens) -> Token:
    """Return a verb in the present with the number of its subject."""
    many = any(token.low == "and" for token in subject) or (is_plural(subject) and not subject[-1].is_name)
    forms = {"is": "are", "was": "were", "has": "have", "does": "do"}
    if many:
        form = forms.get(verb.low) or (lexicon.base_form(verb.low, "third") if verb.third_share else None)
    else:
        form = next((singular for singular, plural in forms.items() if plural == verb.low), None)
    return Token(form, form) if form else verb


def _phrase(parsed: ParsedQuestion, answer: str) -> str | None:
    """Return an answer to "when", "where", "why" or "how" as it follows a clause, None if unsure."""
    first = tokenize(answer)[0]
    if parsed.wh == "why":
        link = "because" if has_verb(tokenize(answer)[1:]) else "because of"
        return answer if first.low in CLASSES["reasons"] else f"{link} {answer}"
    if parsed.wh == "how":
        bound = first.low in CLASSES["manners"] or first.is_adverb
        return answer if bound else f"by {answer}" if first.may_be("ing") else None
    if parsed.wh not in {"when", "where"} or (first.is_preposition and first.low not in {"about", "around"}):
        return answer
    if parsed.wh == "when":
        bare = _BARE_TIME.match(answer) or first.low in tags.TIME_ADVERBS | {"when", "while"}
        dated = f"on {answer}" if _ON.match(answer) else f"in {answer}" if _IN.match(answer) else None
        return answer if bare else dated
    if parsed.clause and parsed.clause[-1].is_preposition:
        return answer
    verbs = {lexicon.base_form(token.low, "past") or token.low for token in parsed.clause}
    moves = bool(verbs & CLASSES["moving"])
    named = any(word[:1].isupper() for word in answer.split()) or first.low in tags.DETERMINERS
    return f"{'to' if moves else 'in'} {answer}" if named else None


def _is_number(answer: str) -> bool:
    last = answer.lower().split()[-1]
    return bool(_NUMBER.match(last)) or last in _SMALL


def _confirm(tokens: Tokens, answer: str) -> str | None:
    """Return a question of "is" or "does" as a statement, affirmed or denied."""
    first, denied = replace(tokens[0], text=tokens[0].text.lower()), _DENIALS.get(answer.lower())
    if denied is None or (denied and first.low.endswith("n't")):
        return None
    negated = "cannot" if first.low == "can" else f"{first.low} not"
    return order_clause([Token(negated, f"{first.low}n't") if denied else first, *tokens[1:]]).text


def _identify(claim: Claim, answer: str) -> str | None:
    """Return the statement that the answer is what the claim says to be known."""
    match, words = _NAMED.fullmatch(claim.text.rstrip(".")), tokenize(f"x {answer}")[1:]
    loose = words[0].may_be("past") or words[-1].is_adverb or words[-1].is_adjective or has_verb(words[1:])
    if match is None or loose or (claim.rule == "quantity" and not _is_number(answer)):
        return None
    many = is_plural(words) or any(token.low == "and" for token in words)
    link = "is the" if match[1] == "exists" else "are the" if many else "is one of the"
    return write_sentence(f"{answer} {link} {match[2]}")
