"""What the rest needs of Spark itself: its errors, its Java, what only classic Spark has."""
