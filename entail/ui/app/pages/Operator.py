"""Operator page: machine, jobs and database."""

from entail.ui.frame.shell import page
from entail.ui.operator.views import draw_operator

with page("Operator", "Disk, versions, jobs, database and backups of this installation.") as (shared, author):
    draw_operator(shared, author)
