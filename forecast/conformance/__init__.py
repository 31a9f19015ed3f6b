"""The kit that plugin authors run, and a plugin to start from."""
