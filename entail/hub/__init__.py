"""The Hugging Face Hub: encoders, scorers and trees, pushed and pulled; Docker Spaces."""
