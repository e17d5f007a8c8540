"""ASGI application of the pages, with the HTTP API under `/api` if the script's arguments have `--api`."""

import sys

import streamlit as st

from entail.ui.app import SCRIPT
from entail.ui.frame.sign_in import check_secrets
from entail.ui.server import lifespan, middleware, open_service, routes

check_secrets()
service = open_service() if "--api" in sys.argv[1:] else None
# `streamlit run` serves a script as ASGI application only if it assigns `st.App(...)` itself.
app = st.App(SCRIPT, routes=routes(service), middleware=middleware(), lifespan=lifespan(service))
