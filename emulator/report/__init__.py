"""`emulator report`: a finished run as one HTML file, with charts, stories and sheets, and nothing from elsewhere."""
