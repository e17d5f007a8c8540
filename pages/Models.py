"""Entry point of the page Models."""

from entail.ui.app import run_page

run_page("pages/Models.py")
