"""The versioned policy bundle: what the owners decided, as data that the code reads."""
