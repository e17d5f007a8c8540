"""Background training jobs: queue, worker, training process, candidates for promotion.

A job is a folder under the data directory. Every process that reads the folder sees the same job, whoever
submitted it. See `entail.jobs.folder` for its files and `entail.jobs.jobs` for the front door.
"""
