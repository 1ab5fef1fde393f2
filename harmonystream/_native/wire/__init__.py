"""Events as bytes: frames, SSE, batches."""
