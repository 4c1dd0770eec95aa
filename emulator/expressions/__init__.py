"""The phases of every protocol: one phase a file, file name == function name, one folder a protocol family."""
