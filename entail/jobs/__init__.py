"""Background training jobs: queue, worker, training process, candidates for promotion.

A job is a row in the database. Every machine that reads it sees the same job, whoever submitted it. See
`entail.jobs.handle` for its row and files, and `entail.jobs.jobs` for the front door.
"""
