"""What sampling and training read: gold files, or the decisions of a team in the database."""

from entail.jobs.source import TrainingData, training_data

__all__ = ["TrainingData", "training_data"]
