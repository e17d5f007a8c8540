"""``entail evaluate ...``."""

import typer

from entail.cli.evaluate import chains, nli, passages, premises

app = typer.Typer(name="evaluate", help="Evaluate retrievers, encoders, scorers and judges.")
for part in (premises, nli, chains, passages):
    app.add_typer(part.app)
