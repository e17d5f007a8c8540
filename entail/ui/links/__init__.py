"""Read-only links: the pages behind them, and the controls that make and revoke them."""
