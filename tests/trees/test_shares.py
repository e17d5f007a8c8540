"""Read-only links: their tokens, what they lead to, and their end."""

from pathlib import Path

import pytest

from entail.errors import UnknownTreeError
from entail.trees.installation.backup import backup, restore
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import Database, open_database
from entail.trees.store.shares import TOKEN_LENGTH, Shares


def grow(database: Database) -> str:
    return TreeLog(database).create(Create(hypothesis="ice floats"), author="Ada", corpus_id=None)


def test_a_tree_has_one_link_until_it_is_revoked_or_the_tree_archived(database: Database) -> None:
    shares, tree = Shares(database), grow(database)
    assert shares.of_tree(tree, viewer="Bo") is None
    share = shares.share_tree(tree, author="Ada")
    assert shares.share_tree(tree, author="Bo") == share
    assert (share.tree_id, share.comparison, share.author, share.verified) == (tree, None, "Ada", False)
    for archived, share_or_none in ((True, None), (False, share)):
        TreeLog(database).archive(tree, author="Ada", archived=archived)
        assert shares.find(share.token) == share_or_none
        assert shares.of_tree(tree, viewer="Bo") == share  # so that it can be revoked
    for token in ("", "a", "a" * TOKEN_LENGTH, "é" * TOKEN_LENGTH, "%" * TOKEN_LENGTH):
        assert shares.find(token) is None
    with pytest.raises(UnknownTreeError):
        shares.share_tree("00000000", author="Ada")
    shares.revoke(share.token, author="Bo")
    assert shares.find(share.token) is None
    assert shares.share_tree(tree, author="Ada").token != share.token


def test_comparisons_are_kept_as_they_were(database: Database) -> None:
    shares = Shares(database)
    content = {"query": "ice <floats>", "premises": [{"text": "é", "gold": None}]}
    first = shares.share_comparison(content, author="Ada")
    second = shares.share_comparison({"query": "snow"}, author="Ada")
    shares.share_tree(grow(database), author="Ada")
    assert shares.find(first.token) == first
    assert first.comparison == content
    assert shares.comparisons() == [second, first]


def test_a_restore_brings_no_link_back(database: Database, database_url: str, tmp_path: Path) -> None:
    shares = Shares(database)
    revoked, living = (shares.share_tree(grow(database), author="Ada") for _ in range(2))
    comparison = shares.share_comparison({"query": "ice"}, author="Ada")
    backup(tmp_path / "b.zip", url=database_url)
    new_url = f"sqlite:///{tmp_path / 'new.db'}"
    assert restore(tmp_path / "b.zip", url=new_url).revoked == 3, "no link works in a new installation"
    assert Shares(open_database(new_url)).find(living.token) is None
    shares.revoke(revoked.token, author="Ada")
    assert restore(tmp_path / "b.zip", url=database_url, replace=True).revoked == 1
    assert shares.find(revoked.token) is None
    assert shares.find(living.token) == living
    assert shares.find(comparison.token) == comparison
