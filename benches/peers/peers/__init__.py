"""Truncated SVDs and node embeddings by other programs, measured and compared with isvd-dist."""
