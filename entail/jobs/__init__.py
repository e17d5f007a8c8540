"""Training outside the web process: what is asked for, who works on it, how far it is, how it ended.

A job is a folder under the data directory; whoever can read it sees the same, and nothing depends on who
began it. See `entail.jobs.store`.
"""
