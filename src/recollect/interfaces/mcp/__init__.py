"""Memory as an MCP server: tools, resources and prompts over the same verbs as every other door.

Importing the SDK takes seconds on a slow machine, so nothing outside this package may import it; the store and the
model are opened by the first call that needs them, so that the handshake waits for neither.
"""
