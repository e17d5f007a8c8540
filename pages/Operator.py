"""Entry point of the page Operator."""

from entail.ui.app import run_page

run_page("pages/Operator.py")
