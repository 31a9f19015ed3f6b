"""``forecast mcp``: the questions of the command line as tools of an agent, by the Model Context Protocol."""
