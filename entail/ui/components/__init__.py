"""Streamlit components: graph, outline, keyboard."""
