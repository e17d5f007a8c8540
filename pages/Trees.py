"""Entry point of the page Trees."""

from entail.ui.app import run_page

run_page("pages/Trees.py")
