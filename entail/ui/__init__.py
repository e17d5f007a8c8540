"""Widgets that the pages share: the only Streamlit code in the library."""
