"""Entry point of the page Review."""

from entail.ui.app import run_page

run_page("pages/Review.py")
