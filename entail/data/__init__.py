"""Frozen records, and readers and writers of official file formats.

`records` has premises, corpora and explanation trees; `text` normalises texts and makes their keys;
`reading` and `writing` handle text files. `entailment_bank`, `nli`, `passages` and `worldtree` read releases
of data sets, `corpora` premise corpora, `judgements` relevance judgements, `bundled` the packaged sample.
"""
