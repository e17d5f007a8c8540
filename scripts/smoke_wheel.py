"""Try an installed `entail` as its users do: command line, doctor, a search, every page.

    python scripts/smoke_wheel.py

Run it outside a checkout, in an environment that holds the wheel and nothing else (`make wheel`). Data
goes to a temporary folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Run every check; a failed one raises."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ENTAIL_DATA_DIR": folder, "HF_HUB_OFFLINE": "1", "ENTAIL_WORKER": "none"}
        import entail
        from entail.ui.app import SCRIPT

        package = Path(entail.__file__).parent
        assert "site-packages" in package.parts, f"expected the installed package, found {package}"
        report = json.loads(run("doctor", "--json"))
        print("doctor:", json.dumps(report)[:120])

        corpus = entail.read_corpus(package / "data" / "sample" / "premises.jsonl.gz").corpus
        hits = entail.retriever("aeenc-minilm", corpus).search(["melting is a change of state"], k=5)
        print("search:", [corpus.texts[position] for position in hits.positions[0][:2]])

        from streamlit.testing.v1 import AppTest

        app = AppTest.from_file(str(SCRIPT), default_timeout=120).run()
        for page in [
            "streamlit_app.py",
            *(f"pages/{file.name}" for file in (SCRIPT.parent / "pages").glob("*.py")),
        ]:
            app = app.switch_page(page).run()
            assert not app.exception, f"{page}: {app.exception}"
            print("page:", page)


def run(*arguments: str) -> str:
    """Return what a command prints."""
    return subprocess.run(
        [sys.executable, "-m", "entail", *arguments], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # Background threads of the pages may still encode; native code aborts the interpreter's normal exit.
    os._exit(0)
