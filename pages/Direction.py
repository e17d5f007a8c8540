"""Entry point of the page Direction."""

from entail.ui.app import run_page

run_page("pages/Direction.py")
