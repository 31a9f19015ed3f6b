"""What plugins hand in and how they are called: records, hooks, the registry, and the door to foreign code."""
