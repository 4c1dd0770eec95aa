"""The story of one partition, from the tables of a run: what each broker did in which round, as text and as a page."""
