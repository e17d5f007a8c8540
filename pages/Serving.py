"""Entry point of the page Serving."""

from entail.ui.app import run_page

run_page("pages/Serving.py")
