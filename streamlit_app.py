"""Entry point of `streamlit run streamlit_app.py`: Home."""

from entail.ui.app import run_page

run_page("streamlit_app.py")
