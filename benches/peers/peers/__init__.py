"""Truncated SVDs and node embeddings by other programs, measured side by side with ours."""
