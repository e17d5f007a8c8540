"""Entry point of the page Chains."""

from entail.ui.app import run_page

run_page("pages/Chains.py")
