"""Entry point of the page Corpora."""

from entail.ui.app import run_page

run_page("pages/Corpora.py")
