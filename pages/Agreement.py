"""Entry point of the page Agreement."""

from entail.ui.app import run_page

run_page("pages/Agreement.py")
