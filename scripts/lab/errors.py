"""Error of the laboratory, printed without a stack trace."""

from entail.errors import EntailError


class LabError(EntailError):
    """An experiment, its data or its records are not as expected."""
