"""Golden tables: what the relational engine made of every mechanism, taken once and never rewritten."""
