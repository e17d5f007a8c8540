"""Laboratory: declared experiments, run in parts that resume, and the models made from them.

``python scripts/lab run aeenc`` trains and measures every arm of `scripts/experiments/aeenc.toml` with every
seed; ``report`` writes its page; ``ship aeenc-minilm`` makes a model of `models/` by its recipe,
`scripts/experiments/ship-aeenc-minilm.toml`.

To add a method, write a module `lab/adapters/METHOD.py` with the three functions of `adapters.Adapter`.
To add an experiment, write a TOML file; see `experiment`.
"""
