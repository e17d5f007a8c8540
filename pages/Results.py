"""Entry point of the page Results."""

from entail.ui.app import run_page

run_page("pages/Results.py")
