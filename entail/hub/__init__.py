"""What leaves the house and what comes in: encoders as stock models, the Hugging Face Hub."""
