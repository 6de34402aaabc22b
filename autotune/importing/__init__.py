"""What a launch script or a command line would start, as a baseline or to compare; nothing of it is run."""
