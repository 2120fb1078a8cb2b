"""The relay on a developer's machine: hooks share one kept-alive connection to the server."""
