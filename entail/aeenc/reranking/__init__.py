"""Re-rankers: cross-encoders that learn to order the nearest premises of a retriever."""
