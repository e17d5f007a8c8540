"""Miniature data of every method: a release of WorldTree and SQuAD files."""

from tests.arcf.conftest import release, world  # noqa: F401 - fixtures
from tests.tuning.conftest import passages_and_questions, squad  # noqa: F401 - fixtures
