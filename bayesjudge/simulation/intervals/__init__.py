"""Coverage, width and bias of intervals in repeated samples."""
