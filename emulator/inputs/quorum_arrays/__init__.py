"""What compiled rounds of quorums read, and the state that they start from, as arrays."""
