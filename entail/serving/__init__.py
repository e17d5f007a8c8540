"""An HTTP API over the same objects that the pages use."""
