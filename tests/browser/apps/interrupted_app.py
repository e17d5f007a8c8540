"""The page of components as if each run was interrupted while it ends: its triggers stay set."""

import runpy
from pathlib import Path

from streamlit.runtime.state.session_state import SessionState

SessionState._reset_triggers = lambda self: None
SessionState._remove_stale_widgets = lambda self, active: None
runpy.run_path(str(Path(__file__).with_name("components_app.py")))
