"""Entry point of the page Work."""

from entail.ui.app import run_page

run_page("pages/Work.py")
