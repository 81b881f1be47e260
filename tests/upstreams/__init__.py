"""MCP servers of unlike kinds for the proxy to stand in front of; each runs as a process of its own."""
