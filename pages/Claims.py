"""Entry point of the page Claims."""

from entail.ui.app import run_page

run_page("pages/Claims.py")
