"""Entry point of the page Compare."""

from entail.ui.app import run_page

run_page("pages/Compare.py")
